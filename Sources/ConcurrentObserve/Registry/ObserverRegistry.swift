// SPDX-License-Identifier: Apache-2.0

// # Registry: who observes, and how a notification finds them
//
// This room (folder) keeps the observers of a source, calls them without a lock, and ends every
// observation in one way. It uses Reclamation, and the rooms below it. Registries, and the
// properties of the room Property, embed its lists. P1 to P25 are the promises of the article
// Contract.
//
// The main types. Begin with `ObserverList.swift`, then read `ObserverList+Walk.swift`.
// - `ObserverRegistry`: a source of events that have no current value.
// - `ObserverList`: two words in a source: the head (the address of the callbacks' table, with
//   hints), and the core's address.
// - `RegistryCore`: the lock, the tables and the counts. It may outlive its source.
// - `ObserverTable`: the entries of one list. It grows at its end, and is replaced when it is full.
// - `ObserverKind`: one of a source's three lists, and the type of what its observers hold.
// - `Observer`: one observation. It owns its content, most often the user's closure.
// - `ObserverMark`: whether the observation has ended, and how. Walks load it without the lock.
// - `DeferredEnds`: the work that an end leaves for after the unlock.
// - `ObservationToken`: keeps the observation active. Its release ends the observation. (P10)
//
// The life of an observer:
// 1. `ObserverList.makeObserver` makes it, or recycles one of the pool, and `setCallback` stores
//    the closure. No other thread has the observer yet.
// 2. `register` calls `RegistryCore.append`. Under the core's lock, `ObserverTable.append` stores
//    the entry, then the count with release, which pairs with the acquire in `loadCount`. If the
//    table is full, `replaceTableLocked` first publishes another one, by a release of the list's
//    head. `settle` retires the replaced table after the unlock.
// 3. `ObserverRegistry.notify` calls the closure during a *walk* over the entries of a table. A
//    thread has a *frame* (`Frame`) for each notification that it is making. The frame's hazard
//    pointer `pin` protects the table, and its hazard pointer `current` names the observer that is
//    being called. If there are mailboxes, `deliverWithMailboxes` enqueues and wakes before the
//    walk, and drains after it. (P1)
// 4. `Observer.end` calls `RegistryCore.end`. Under the same lock, `tombstoneLocked` marks the
//    entry, and then `markEndedLocked` the observer. A notification that begins later does not call
//    it. (P8) The end of the source is `RegistryCore.endSource`: it removes all tables, and marks
//    all observers.
// 5. After the unlock, the thread that ended the observation retires the observer.
// 6. A pass of the reclamation thread executes the heavy barrier and scans the frames. When no
//    frame has the observer as `current`, a deinit thread calls `finish`, which destroys the
//    closure and calls the `onEnd` bodies. Outside callbacks, `cancelAndWaitBlocking` does this
//    itself for an observation that it has ended, and so does `cancelAndWait` if no frame has the
//    observer. (P9)
// 7. The object lives on until each table that had it is freed, and each token and handle is
//    released. Then it goes to the pool, or is freed.
//
// Every part of the room obeys these rules:
// - `RegistryCore` decides under its lock, and its caller acts after the unlock. No user code runs
//   under the lock, and nothing is retired or destroyed there. (P5)
// - A walk stores `current`, then checks whether the entry has ended, then calls. In a replaced
//   table it checks the observer's mark instead. On the other side come, in this order, the end of
//   the entry and the mark, the heavy barrier, the scan, and the destruction of the closure. These
//   may be done by three threads. (P8, P9)
//
// The calls to read, in their order: `notify`, `deliver`, `walkClosures`, `withPinnedTable`
// (`ThreadRecord.withFrame`, `HazardPointer.protectTable`, `loadHead`), `loadCount`,
// `visitClosures`, `visit` (`HazardPointer.protect`, `isActive`), `LentClosure.callAsFunction`.

/// A registry of observers of one kind of event. A notification calls every observer.
///
/// Properties are built on the same parts. Use a registry for events that have no current value;
/// use a property for state. Every member may be used from any thread, also inside a callback.
///
/// ```swift
/// let logins = ObserverRegistry<String>()
/// let token = logins.observe { name in print("hello", name) }
/// logins.notify("Ada")
/// ```
public final class ObserverRegistry<Event: Sendable>: Sendable {
    @usableFromInline internal let observers = ObserverList()

    /// Makes a registry without observers.
    ///
    /// - Parameter label: The name of the registry in diagnostics:
    ///   `ConcurrentObserveDiagnostics.callbacks(runningFor:)` reports it for a stuck callback.
    public init(label: String = "") {
        if !label.isEmpty { LabelledRegistries.add(observers.core(label: label)) }
    }

    /// Ends every observation; `onEnd` receives `.sourceDeleted`. (P12)
    deinit { observers.endSource() }

    /// The label given to the registry, or an empty string.
    public var label: String { observers.existingCore?.label ?? "" }
}

// MARK: - Notifying

extension ObserverRegistry {
    /// Calls every observer with `event`, on this thread, in the order of registration. (P1, P6,
    /// P15)
    ///
    /// First it puts the event into the mailboxes of sequences, of deliveries on queues and actors,
    /// and of serial deliveries. Then it calls the inline observers (those without a mailbox), and
    /// then the observers of the serial deliveries.
    ///
    /// Any thread, also inside a callback. Notifications by several threads run at the same time,
    /// and so do the callbacks of one observer. Calling the inline observers takes no lock,
    /// executes no atomic read-modify-write, counts no reference and allocates nothing, except at
    /// the thread's first use, and in more than eight nested notifications. An observer that a
    /// callback registers is not called for this event. An observer that a callback cancels is no
    /// longer called.
    ///
    /// - Complexity: O(*n*) in the observers.
    @inlinable
    public func notify(_ event: Event) {
        guard observers.isPossiblyObserved else { return }
        deliver(event)
    }

    /// Calls every observer with `event`. This function is out of line, so that an asynchronous
    /// caller never keeps a thread's address across a suspension. It is compiled once for all types
    /// of event: it receives the event's address and passes it to each closure. Code that is
    /// specialized for one type of event would copy the event for each closure.
    @usableFromInline @inline(never)
    internal func deliver(_ event: Event) {
        if observers.mayHaveMailboxes { return deliverWithMailboxes(event) }
        observers.walkClosures { closure in closure(event) }
    }

    /// Puts `event` into the mailboxes, and calls every observer with it. This function is out of
    /// line, so that a delivery without mailboxes need not keep anything for steps after the walk.
    @inline(never)
    private func deliverWithMailboxes(_ event: Event) {
        observers.enqueue(event)
        observers.wakeMailboxes(of: Event.self)
        observers.walkClosures { closure in closure(event) }
        observers.drainMailboxes(of: Event.self)
    }
}

// MARK: - Registering

extension ObserverRegistry {
    @usableFromInline
    internal func start(_ observer: consuming Observer) -> ObservationToken {
        let token = observer.takeToken()
        observer.register(of: Event.self)
        if let token { return token }
        return ObservationToken(observer)
    }
}

// MARK: - All observations

extension ObserverRegistry: ObservationSource {
    /// The number of observations that have not ended. Ends observations whose owners are dead.
    /// (P13)
    ///
    /// - Complexity: O(*n*) in the observers that are not inline. With owner-bound observers,
    ///   O(*n*) in all observers.
    public var observationCount: Int { observers.existingCore?.count ?? 0 }

    /// Ends every observation, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() {
        guard let core = observers.existingCore else { return }
        core.removeAll { _ in .cancelled }
    }

    /// Ends every observation of this registry that was registered with `owner`, as if each was
    /// cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations(ownedBy owner: AnyObject) { observers.existingCore?.removeAll(boundTo: owner) }
}
