// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Where, and how many at a time, an observer's callbacks run.
///
/// All but `.inline` deliver one at a time, in the order of the versions (of a registry: of arrival), and delay no thread that makes a
/// change: what a slow observer has still to receive waits in its mailbox, as `Buffering` says. (P2)
public struct Delivery: Sendable {
    @usableFromInline
    internal enum Kind: Sendable {
        case inline
        case serial(Buffering)
        case queue(DispatchQueue, Buffering)
        case isolated(DeliveryIsolation, Buffering)
    }

    @usableFromInline internal let kind: Kind

    @inlinable
    internal init(_ kind: Kind) { self.kind = kind }

    /// On the thread that makes the change, before it goes on; on several at once if several make changes. The fastest, and the default.
    @inlinable
    public static var inline: Delivery { Delivery(.inline) }

    /// On the threads that make the changes, but never two callbacks of the observer at once: a thread that finds it busy leaves its
    /// change and goes on, and the busy one delivers it. After 64 changes of others a thread hands the rest to one of the library's.
    ///
    /// A change that the callback itself makes is delivered after it has returned.
    ///
    /// - Parameter buffering: What becomes of changes while the observer is busy.
    @inlinable
    public static func serial(buffering: Buffering = .unbounded) -> Delivery { Delivery(.serial(buffering)) }

    /// On a dispatch queue, which is retained. In order, also on a concurrent one.
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run.
    ///   - buffering: What becomes of changes while the queue is busy.
    @inlinable
    public static func queue(_ queue: DispatchQueue, buffering: Buffering = .unbounded) -> Delivery {
        Delivery(.queue(queue, buffering))
    }

    /// On the serialising actor, with its policy, and counted by it. The actor is not retained: when it is gone, the observation ends with
    /// `.ownerDeleted`, at the next change. (P11)
    public static func actor(_ actor: ObservationActor) -> Delivery {
        Delivery(.isolated(DeliveryIsolation(to: actor, counts: actor.counts), actor.buffering))
    }
}

/// The actor on which an observer's closure is called.
@usableFromInline
internal final class DeliveryIsolation: Sendable {
    /// The actor that the closure has captured as its own.
    @usableFromInline let own: (any Actor)?
    /// Otherwise the actor that was named. It is not retained. (P11)
    @usableFromInline weak let named: (any Actor)?
    /// The named actor, as the owner of the observation.
    @usableFromInline let owner: WeakReference?
    /// What sums up the counts of all observations of the actor, if it wants them.
    @usableFromInline let counts: DeliverySum?

    /// The isolation that a closure carries.
    @usableFromInline
    init(of own: any Actor) { (self.own, named, owner, counts) = (own, nil, nil, nil) }

    @usableFromInline
    init(to named: some Actor, counts: DeliverySum? = nil) {
        (own, self.named, owner, self.counts) = (nil, named, WeakReference(named), counts)
    }

    /// The actor, unless it is gone.
    var actor: (any Actor)? { own ?? named }
}

extension Delivery {
    @inlinable
    internal var isInline: Bool { if case .inline = kind { true } else { false } }

    /// Whether there may be no room for an event.
    @inlinable
    internal var mayDrop: Bool {
        switch kind {
        case .inline: false
        case .serial(let buffering), .queue(_, let buffering), .isolated(_, let buffering): buffering.capacity != nil
        }
    }

    /// With whom the observation ends, if its own owner is not another one.
    @inlinable
    internal var owner: WeakReference? { if case .isolated(let isolation, _) = kind { isolation.owner } else { nil } }

    /// An observation that is delivered in this way; nil if inline.
    @inlinable
    internal func makeObservation<Event>(_ succession: Succession<Event>?) -> OrderedObservation<Event>? {
        switch kind {
        case .inline: nil
        case .serial(let buffering): SerialObservation(buffering, succession)
        case .queue(let queue, let buffering): QueueObservation(queue, buffering, succession)
        case .isolated(let isolation, let buffering): IsolatedObservation(isolation, buffering, succession)
        }
    }

    /// An observation that is delivered in this way, not inline, with the user's closure; it lacks its source.
    @inlinable
    internal func makeObservation<Event>(
        owner: WeakReference?,
        _ form: CallbackForm<Event>,
        _ succession: Succession<Event>? = nil
    ) -> OrderedObservation<Event> {
        let observation = makeObservation(succession)!
        let user = observation.makeUser(owner: owner, isHeldMeanwhile: owner === self.owner)
        observation.setCallback(form)
        if case .isolated(let isolation, _) = kind { isolation.counts?.add(user, observation.counter) }
        return observation
    }
}
