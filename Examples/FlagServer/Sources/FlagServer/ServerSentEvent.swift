// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore

/// An item of a stream, in the form that browsers know as `EventSource`.
enum ServerSentEvent: Sendable {
    /// There never were flags from the source: nothing is known of any.
    case waiting(SourceState)
    /// All flags, first.
    case state(StreamedFlags)
    /// The changes of one commit.
    case change(StreamedFlags)
    /// Nothing: it shows both sides that the connection lives.
    case heartbeat
    /// Nothing comes after this: the service goes down, or is behind what the client has seen.
    case end

    /// The event as it is sent, its empty line included.
    ///
    /// Written by hand: a thousand streams encode each change. The names of flags need no escapes.
    var encoded: ByteBuffer {
        switch self {
        case .waiting(let source):
            // A structure of texts and numbers can always be encoded.
            let data = (try? JSONEncoder().encode(source)) ?? Data()
            return ByteBuffer(string: "event: waiting\ndata: \(String(decoding: data, as: UTF8.self))\n\n")
        case .state(let flags): return ByteBuffer(string: "retry: 1000\nevent: state\n\(flags.encoded)\n\n")
        case .change(let flags): return ByteBuffer(string: "event: change\n\(flags.encoded)\n\n")
        case .heartbeat: return ByteBuffer(string: ":\n\n")
        case .end: return ByteBuffer(string: "event: end\ndata: {}\n\n")
        }
    }
}

/// Flags as a stream shows them.
struct StreamedFlags: Sendable {
    let flags: [FlagState]
    /// All derived flags, of the same commit.
    let derived: [DerivedFlag]
    /// The number of the commit that has left the flags so.
    let version: UInt64
    /// How many commits the stream has left out so far. Their changes are in a later event.
    let dropped: UInt64
    /// The id that a client sends when it reconnects: the last event that it has seen.
    let id: String

    /// - Parameter last: The version that the client has: flags that it has are left out. nil for
    ///   none.
    init(_ all: FlagSnapshot, after last: UInt64?, dropped: UInt64, _ source: FlagSource) {
        flags = last.map { last in all.flags.filter { $0.version > last } } ?? all.flags
        (derived, version, self.dropped) = (all.derived, all.version, dropped)
        id = source.tag(version)
    }

    fileprivate var encoded: String {
        let (flags, derived) = (flags.map(\.encoded), derived.map(\.encoded))
        return """
            data: {"version":\(version),"dropped":\(dropped),"flags":[\(flags.joined(separator: ","))],"derived":[\(derived.joined(separator: ","))]}
            id: \(id)
            """
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
