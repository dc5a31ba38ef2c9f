// SPDX-License-Identifier: Apache-2.0

public import Dispatch

/// Says where an observer's callbacks run, and how many at a time.
///
/// All but `.inline` deliver one at a time, in the order of the versions (events of a registry: in
/// the order of arrival). Events that a slow observer has still to receive wait in its mailbox, as
/// `Buffering` says. No thread that makes a change waits for a callback that runs elsewhere. (P2)
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

    /// On the thread that makes the change, before it goes on; on several threads at once if
    /// several make changes. This is the fastest, and the default.
    @inlinable
    public static var inline: Delivery { Delivery(.inline) }

    /// On the threads that make the changes, but never two callbacks of the observer at once. A
    /// thread that finds the observer busy leaves its change and goes on; the busy thread delivers
    /// that change. After 64 changes of other threads, it hands the rest to a thread of the
    /// library.
    ///
    /// A change that the callback itself makes is delivered after the callback has returned.
    ///
    /// - Parameter buffering: Which changes are kept while the observer is busy.
    @inlinable
    public static func serial(buffering: Buffering = .unbounded) -> Delivery { Delivery(.serial(buffering)) }

    /// On a dispatch queue, which is retained. The deliveries come in order, also on a concurrent
    /// queue.
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run.
    ///   - buffering: Which changes are kept while the queue is busy.
    @inlinable
    public static func queue(_ queue: DispatchQueue, buffering: Buffering = .unbounded) -> Delivery {
        Delivery(.queue(queue, buffering))
    }

    /// On this actor, with its buffering policy. The actor counts the events. It is not retained:
    /// when it is gone, the observation ends with `.ownerDeleted`, at the next change. (P11)
    public static func actor(_ actor: ObservationActor) -> Delivery {
        Delivery(.isolated(DeliveryIsolation(to: actor, counts: actor.counts), actor.buffering))
    }
}

/// The actor on which an observer's closure is called.
@usableFromInline
internal final class DeliveryIsolation: Sendable {
    /// The actor that the closure has captured as its own.
    @usableFromInline let own: (any Actor)?
    /// The actor that was named, if the closure has none. It is not retained. (P11)
    @usableFromInline weak let named: (any Actor)?
    /// The named actor, as the owner of the observation.
    @usableFromInline let owner: WeakReference?
    /// Adds up the counts of all observations of the actor, if the actor asks for that.
    @usableFromInline let counts: DeliverySum?

    /// Makes the isolation that a closure carries.
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

    /// Whether the mailbox may have no room for an event.
    @inlinable
    internal var mayDrop: Bool {
        switch kind {
        case .inline: false
        case .serial(let buffering), .queue(_, let buffering), .isolated(_, let buffering): buffering.capacity != nil
        }
    }

    /// The owner with which the observation ends, unless it has an owner of its own.
    @inlinable
    internal var owner: WeakReference? { if case .isolated(let isolation, _) = kind { isolation.owner } else { nil } }

    /// Makes an observation that is delivered in this way; nil if inline.
    @inlinable
    internal func makeObservation<Event>(_ succession: Succession<Event>?) -> OrderedObservation<Event>? {
        switch kind {
        case .inline: nil
        case .serial(let buffering): SerialObservation(buffering, succession)
        case .queue(let queue, let buffering): QueueObservation(queue, buffering, succession)
        case .isolated(let isolation, let buffering): IsolatedObservation(isolation, buffering, succession)
        }
    }

    /// Makes an observation with the user's closure, which has not joined a source yet. The
    /// delivery must not be inline.
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
