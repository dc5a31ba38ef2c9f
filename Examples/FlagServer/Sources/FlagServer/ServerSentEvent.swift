// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore

/// An item of a stream, in the form that browsers know as `EventSource`.
enum ServerSentEvent: Sendable {
    /// No flags have come from the source, so no flag is known.
    case waiting(SourceState)
    /// All flags. It is the first event.
    case state(StreamedFlags)
    /// The changes of one commit.
    case change(StreamedFlags)
    /// An empty item. It shows both sides that the connection works.
    case heartbeat
    /// The last item: the service shuts down, or is older than the state that the client has seen.
    case end

    /// The event as it is sent, with its empty line.
    ///
    /// It is encoded by hand, because a thousand streams encode each change. The names of flags
    /// need no escapes.
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
    /// All derived flags of the same commit.
    let derived: [DerivedFlag]
    /// The number of the commit.
    let version: UInt64
    /// The number of commits that the stream has left out so far. A later event has their changes.
    let dropped: UInt64
    /// The id of the last event that a client has seen. The client sends it when it connects again.
    let id: String

    /// Makes the flags of an event.
    ///
    /// - Parameter last: The version that the client has. Flags that have not changed since are
    ///   left out. Nil for none.
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
