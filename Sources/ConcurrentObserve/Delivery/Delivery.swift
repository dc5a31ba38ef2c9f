// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Where, and how many at a time, an observer's callbacks run.
///
/// All but `.inline` deliver one at a time, in the order of the versions (of a registry: of arrival), and hold up nobody who makes a change: an
/// observer that is slow collects what it has still to hear, as `Buffering` says. (P2)
public struct Delivery: Sendable {
    @usableFromInline
    internal enum Kind: Sendable {
        case inline
        case serial(Buffering)
        case queue(DispatchQueue, Buffering)
    }

    @usableFromInline internal let kind: Kind

    /// On the thread that makes the change, before it goes on; on several at once if several make changes. The fastest, and the default.
    public static var inline: Delivery { Delivery(kind: .inline) }

    /// On the threads that make the changes, but never two callbacks of the observer at once: a thread that finds it busy leaves its
    /// change and goes on, and the busy one delivers it. After 64 changes of others a thread hands the rest to one of the library's.
    ///
    /// A change that the callback itself makes is delivered after it has returned.
    public static func serial(_ buffering: Buffering = .unbounded) -> Delivery { Delivery(kind: .serial(buffering)) }

    /// On a dispatch queue, which is retained. In order, also on a concurrent one.
    public static func queue(_ queue: DispatchQueue, _ buffering: Buffering = .unbounded) -> Delivery {
        Delivery(kind: .queue(queue, buffering))
    }
}

extension Delivery {
    @inlinable
    internal var isInline: Bool { if case .inline = kind { true } else { false } }

    /// An observation that is delivered in this way; nil if inline.
    @inlinable
    internal func makeObservation<Event>(of event: Event.Type) -> OrderedObservation<Event>? {
        switch kind {
        case .inline: nil
        case .serial(let buffering): SerialObservation(buffering)
        case .queue(let queue, let buffering): QueueObservation(queue, buffering)
        }
    }
}
