// SPDX-License-Identifier: Apache-2.0

/// A registry of observers of one kind of event. A notification calls every one of them.
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
    /// - Parameter label: Names the registry in diagnostics:
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
    /// First it wakes the mailboxes of sequences, and of deliveries on queues and actors. Then it
    /// calls the inline observers, then the serial ones.
    ///
    /// Any thread, also inside a callback. Notifications by several threads run at the same time,
    /// and so do the callbacks of one observer. After the thread's first use, and up to eight
    /// nested notifications, it takes no lock, executes no atomic read-modify-write, counts no
    /// reference and allocates nothing. An observer that a callback registers is not called for
    /// this event. An observer that a callback cancels is no longer called.
    ///
    /// - Complexity: O(*n*) in the observers.
    @inlinable
    public func notify(_ event: Event) {
        guard observers.isPossiblyObserved else { return }
        deliver(event)
    }

    /// Out of line, so that an asynchronous caller never keeps a thread's address across a
    /// suspension. Compiled once for all events: it receives the event's address and passes it to
    /// each closure. Code that is specialized for one type of event would copy the event for each
    /// closure.
    @usableFromInline @inline(never)
    internal func deliver(_ event: Event) {
        if observers.mayHaveMailboxes { return deliverWithMailboxes(event) }
        observers.walkClosures { closure in closure(event) }
    }

    /// Out of line: without mailboxes nothing must be kept for the steps after the walk.
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
        observer.register()
        if let token { return token }
        return ObservationToken(observer)
    }
}

// MARK: - All observations

extension ObserverRegistry: ObservationSource {
    /// The number of observations that have not ended. Ends observations whose owners are dead.
    /// (P13)
    ///
    /// - Complexity: O(1), and O(*n*) in the observers that are not inline; O(*n*) with owner-bound
    ///   observers.
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
