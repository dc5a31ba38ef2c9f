// SPDX-License-Identifier: Apache-2.0

// # Delivery: how observers begin, and how events reach them one at a time
//
// The room has the `observe` functions of properties and registries, and the mailboxes between a
// change and an observer that receives one event at a time: serially, on a queue, on an actor, or
// as an async sequence. It uses Property and Registry, and Reclamation to retire the values that a
// deinit thread must destroy.
//
// The main types. Begin with `Mailbox.swift`, then `SharedMailbox.swift`.
// - `Delivery`: where the callbacks run. Its `Buffering` says how many events may wait.
// - `Mailbox`: a state machine with the waiting events, the end of the source, and the consumer.
// - `SharedMailbox`: the machine and its lock. It has two kinds:
// - `OrderedObservation`: a delivery empties it, on the thread that its `Delivery` names.
// - `Subscription`: the mailbox of one iterator of an `ObservationSequence`. A task empties it.
// - `Succession`: a change takes over the old value of changes that were dropped before it.
// - `OrderedFactory`: makes the mailbox when a property attaches the observer.
// - `Flush`: a task that waits until the events of a mailbox are delivered or dropped.
// - `Discarded`: dropped events that a deinit thread destroys.
// - `Kept`: an event in a mailbox. With the trait `Tracing` it has its context.
//
// The life of an `OrderedObservation`. An inline observer has none: its source calls it.
// 1. `observe` makes a `PropertyObserver` and passes it to `attach`. Then the `OrderedFactory`
//    calls `makeObservation`, which makes the user's observer. A registry calls it directly.
// 2. `join` connects two observers: the user's, in the observation's own list, and one on the
//    source, which holds the `EventReceiver`. The source publishes the second one, then calls
//    `hasJoined`. An initial value is enqueued while no change is published. (P4)
// 3. `enqueue` puts an event in, under `lock`. A property enqueues each change under its mutation
//    lock: so the mailbox has the order of the versions. (P2) A registry has the order of arrival.
// 4. After the unlock, `wake` makes a parked mailbox busy, under `lock`, if events wait. Only the
//    thread that does so calls `begin`. A serial delivery begins later, in `drain`, after the
//    inline callbacks. (P1)
// 5. `begin` leads to `run` on the delivering thread. `fillBatch` takes events under `lock`, and
//    `deliverNext` calls the closure in `Observer.visit`: hazard pointer, mark, call. (P8, P9) When
//    nothing is left, `fillBatch` parks under `lock`: a later event begins a delivery.
// 6. When the user's observation has ended, and its closure is destroyed, `close` drops the rest
//    and ends the source's observer. If the source is gone, `finish` puts its end behind the
//    last event, and `run` then ends the user's observation with `.sourceDeleted`. (P12)
//
// P1 to P25 are the promises of the article Contract. Every part of the room obeys these rules:
// - No user code runs under a mailbox's `lock`. Events that are dropped are put aside, and
//   `Discarded` or `close` destroys them under no lock. (P5)
// - While a mailbox is busy, no other delivery begins. (P2) A thread that makes a change waits for
//   no delivery on another thread. (P7)
//
// The walk to read: `ObserverList.enqueue`, `EventReceiver.enqueue`, `SharedMailbox.enqueue`,
// `Mailbox.enqueue`; after the unlock `wakeMailboxes`, `wake`, `begin`; on the actor `runJob`,
// `run(atMost:)`, `fillBatch`, `deliverNext`, `Observer.visit`, `Observer.call`.

public import Dispatch

/// Says where an observer's callbacks run, and how many at a time.
///
/// All deliveries but `.inline` call an observer with one change at a time, in the order of the
/// versions (events of a registry: in the order of arrival). Events that a slow observer has still
/// to receive wait in its mailbox, as `Buffering` says. No thread that makes a change waits for a
/// callback that runs elsewhere. (P2)
public struct Delivery: Sendable {
    @usableFromInline
    internal enum Kind: Sendable {
        case inline
        case serial
        case queue(DispatchQueue)
        case isolated(DeliveryIsolation)
    }

    @usableFromInline internal let kind: Kind
    /// The policy of the mailbox; unused if inline.
    @usableFromInline internal let buffering: Buffering

    @inlinable
    internal init(_ kind: Kind, _ buffering: Buffering = .unbounded) { (self.kind, self.buffering) = (kind, buffering) }

    /// Runs the callbacks on the thread that makes the change, before its setter returns. If
    /// several threads make changes, callbacks run on several threads at once. This delivery is the
    /// fastest, and the default.
    @inlinable
    public static var inline: Delivery { Delivery(.inline) }

    /// Runs the callbacks on the threads that make the changes, but never two callbacks of the
    /// observer at once. A thread that finds the observer busy leaves its change and continues; the
    /// busy thread delivers that change. After 64 changes of other threads, it hands the rest to a
    /// thread of the library.
    ///
    /// A change that the callback itself makes is delivered after the callback has returned.
    ///
    /// - Parameter buffering: Which changes are kept while the observer is busy.
    @inlinable
    public static func serial(buffering: Buffering = .unbounded) -> Delivery { Delivery(.serial, buffering) }

    /// Runs the callbacks on a dispatch queue, one at a time and in order, even if the queue is
    /// concurrent. The observation retains the queue.
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run.
    ///   - buffering: Which changes are kept while the queue is busy.
    @inlinable
    public static func queue(_ queue: DispatchQueue, buffering: Buffering = .unbounded) -> Delivery {
        Delivery(.queue(queue), buffering)
    }

    /// Runs the callbacks on this actor. The observation does not retain the actor. When the actor
    /// is gone, the observation ends with `.ownerDeleted`, at the next change. (P11) An
    /// ``ObservationActor`` also counts the events of all its observers.
    ///
    /// - Parameters:
    ///   - actor: Where the callbacks run: any actor.
    ///   - buffering: Which changes are kept while the actor is busy. Nil stands for the policy of
    ///     an `ObservationActor`; for any other actor it means `.unbounded`.
    public static func actor(_ actor: some Actor, buffering: Buffering? = nil) -> Delivery {
        let serialising = actor as? ObservationActor
        let isolation = DeliveryIsolation(to: actor, counts: serialising?.counts)
        return Delivery(.isolated(isolation), buffering ?? serialising?.buffering ?? .unbounded)
    }
}

extension Delivery {
    @inlinable
    internal var isInline: Bool { if case .inline = kind { true } else { false } }

    @inlinable
    internal var isOnActor: Bool { if case .isolated = kind { true } else { false } }

    /// The object with which the observation ends, unless `observe` was given an owner: the actor
    /// that the delivery names. Nil if it names none.
    @inlinable
    internal var owner: WeakReference? { if case .isolated(let isolation) = kind { isolation.owner } else { nil } }

    /// Makes an observation that has the user's closure, and has not joined a source yet. The
    /// delivery must not be inline.
    @inlinable
    internal func makeObservation<Event>(
        owner: WeakReference?,
        _ form: CallbackForm<Event>,
        _ succession: Succession<Event>? = nil
    ) -> OrderedObservation<Kept<Event>> {
        let observation = OrderedObservation<Kept<Event>>(self, succession?.kept)
        let form = form.kept(deliveredOnActor: isOnActor)
        let user = observation.makeUser(owner: owner, isHeldMeanwhile: owner === self.owner, form)
        if case .isolated(let isolation) = kind { isolation.counts?.add(user, observation.counter) }
        return observation
    }
}
