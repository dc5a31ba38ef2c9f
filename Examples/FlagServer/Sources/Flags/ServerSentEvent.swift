// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What a stream carries, in the form that browsers know as `EventSource`.
enum ServerSentEvent: Sendable {
    /// All flags, first.
    case state(StreamedFlags, [DerivedFlag])
    /// What one commit has changed, as one event.
    case change(StreamedFlags)
    /// A derived flag has another value.
    case derived(DerivedFlag)
    /// Nothing: it shows both sides that the connection lives.
    case heartbeat
    /// The service goes down: nothing comes after this.
    case end

    /// The event as it is sent, its empty line included.
    ///
    /// Written by hand: a thousand streams encode each change. The names of flags need no escapes.
    var encoded: ByteBuffer {
        switch self {
        case .state(let flags, let derived):
            let derived = derived.map(\.encoded).joined(separator: ",")
            return ByteBuffer(
                string: "retry: 1000\nevent: state\ndata: {\(flags.encoded),\"derived\":[\(derived)]}\n\n"
            )
        case .change(let flags):
            return ByteBuffer(string: "event: change\ndata: {\(flags.encoded)}\n\n")
        case .derived(let flag):
            return ByteBuffer(string: "event: derived\ndata: \(flag.encoded)\n\n")
        case .heartbeat:
            return ByteBuffer(string: ":\n\n")
        case .end:
            return ByteBuffer(string: "event: end\ndata: {}\n\n")
        }
    }
}

/// Flags as a stream shows them.
struct StreamedFlags: Sendable {
    let flags: [FlagState]
    /// The number of the commit that has left the flags so.
    let version: UInt64
    /// How many commits the stream has left out so far. Their changes are in a later event.
    let dropped: UInt64

    /// - Parameter last: The version that the client has: flags that it has are left out. nil for none.
    init(_ all: [FlagState], after last: UInt64?, dropped: UInt64) {
        flags = last.map { last in all.filter { $0.version > last } } ?? all
        version = all.latestVersion
        self.dropped = dropped
    }

    /// The members of an object, without its braces.
    fileprivate var encoded: String {
        "\"version\":\(version),\"dropped\":\(dropped),\"flags\":[\(flags.map(\.encoded).joined(separator: ","))]"
    }
}

extension FlagState {
    fileprivate var encoded: String {
        """
        {"name":"\(name.rawValue)","enabled":\(flag.isEnabled),"rollout":\(flag.rollout),"version":\(version)}
        """
    }
}

extension DerivedFlag {
    fileprivate var encoded: String { "{\"name\":\"\(name)\",\"enabled\":\(isEnabled)}" }
}
