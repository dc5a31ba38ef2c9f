// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What a stream carries, in the form that browsers know as `EventSource`.
enum ServerSentEvent: Sendable {
    /// All flags, first.
    case state([StreamedState])
    case change(StreamedState)
    /// Nothing: it shows both sides that the connection lives.
    case heartbeat
    /// The service goes down: nothing comes after this.
    case end

    /// The event as it is sent, its empty line included.
    ///
    /// Written by hand: a thousand streams encode each change. The names of flags need no escapes.
    var encoded: ByteBuffer {
        switch self {
        case .state(let states):
            let flags = states.map(\.encoded).joined(separator: ",")
            return ByteBuffer(string: "retry: 1000\nevent: state\ndata: {\"flags\":[\(flags)]}\n\n")
        case .change(let state):
            return ByteBuffer(string: "event: change\ndata: \(state.encoded)\n\n")
        case .heartbeat:
            return ByteBuffer(string: ":\n\n")
        case .end:
            return ByteBuffer(string: "event: end\ndata: {}\n\n")
        }
    }
}

/// A flag as a stream shows it.
struct StreamedState: Sendable {
    let state: FlagState
    /// How many of the flag's changes the stream has left out so far.
    let dropped: UInt64

    fileprivate var encoded: String {
        """
        {"name":"\(state.name.rawValue)","enabled":\(state.flag.isEnabled),"rollout":\(state.flag.rollout),\
        "version":\(state.version),"dropped":\(dropped)}
        """
    }
}
