// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A reference that any thread may read and change, and that does not keep its referent alive. It
/// delivers every change to its observers. The referent's death is such a change.
///
/// The referent adopts `WeaklyObservable`, which takes one line. The property belongs in a `let` of
/// a class that is `Sendable`:
///
/// ```swift
/// final class Session: WeaklyObservable {
///     let lifetime = ReferentLifetime()
/// }
/// final class Router: Sendable {
///     let active = WeakObserved<Session>()
/// }
/// let token = router.active.observe { change in
///     print(change.new == nil, change.version)
/// }
/// router.active.value = session
/// ```
///
/// Every member may be used from any thread, also inside a callback, and readers never wait.
/// Changes are made one at a time, and are numbered 1, 2, 3, … (P2) After each change, the thread
/// that made it calls the observers, under no lock. Observers may be called on several threads at
/// once.
///
/// From the moment at which the referent's `deinit` begins, the property reads as nil. When the
/// `deinit` has returned, the property becomes nil, unless it refers to something else by then.
/// This is one change, with a version of its own. The thread that released the referent's last
/// reference makes the change and calls the observers, before that release returns. The stored
/// properties of the referent are being destroyed at that time. If the release is in the body of a
/// `modify` or a commit, a thread of the library makes the change instead. (P5, P12)
///
/// A thread that reads or receives the referent holds it, and may release its last reference. Then
/// the referent's `deinit`, and the callbacks that follow, run on this thread, under no lock. (P5)
public final class WeakObserved<Referent: WeaklyObservable>: Sendable {
    internal let storage: Observed<WeakBox<Referent>>

    /// Makes a property that refers to this object, at version 0. The object is not retained. (P11)
    public init(_ referent: Referent? = nil) {
        let box = WeakBox(referent)
        storage = Observed(box)
        watch(referent, for: box)
        // The referent is held until here, so that it does not die before the property refers to it
        // and observes its death.
        withExtendedLifetime(referent) {}
    }

    /// Makes a property with a name for diagnostics, at version 0. See `Observed.init(_:label:)`.
    public convenience init(_ referent: Referent? = nil, label: String) {
        self.init(referent)
        if !label.isEmpty { LabelledRegistries.add(storage.observers.core(label: label)) }
    }

    /// The name given to the property, or an empty string.
    public var label: String { storage.label }
}

// MARK: - Reading

extension WeakObserved {
    /// The present referent, which the reader then holds, or nil once its `deinit` has begun.
    /// Reading never waits; the setter makes a change and calls the observers before it returns.
    ///
    /// The setter retains nothing. It waits for other changes of this property, including the
    /// bodies of commits, and traps in the body of any `modify` or commit. (P5)
    ///
    /// - Complexity: Reading: O(1). Setting: O(*n*) in the observers.
    public var value: Referent? {
        get { storage.withValue { $0.read() } ?? storage.referent().value }
        set { _ = replace(by: newValue) }
    }

    /// The number of changes so far. A value that is read afterwards has this version or a later
    /// one. (P2)
    public var version: UInt64 { storage.version }

    /// Returns the present referent, and the version that it belongs to. Never waits.
    ///
    /// Between the beginning of the referent's `deinit` and the change that announces its death,
    /// the returned value is nil, and the version is still the referent's version.
    public func snapshot() -> (value: Referent?, version: UInt64) {
        storage.referent()
    }
}

extension Observed {
    /// Returns the present referent, and its version. This property must be the storage of a weak
    /// property. Must be called where user code may run.
    internal func referent<Referent>() -> (value: Referent?, version: UInt64) where Value == WeakBox<Referent> {
        while true {
            let (box, version) = snapshot()
            if let referent = box.read() { return (referent, version) }
            if box.isNone { return (nil, version) }
            // Acquire: pairs with the release of the last reference, which follows the change that
            // has replaced the referent.
            atomicMemoryFence(ordering: .acquiring)
            // If the version has changed, the referent may have died after it was replaced: then
            // the property was never nil.
            if self.version == version { return (nil, version) }
        }
    }
}

// MARK: - Changing

extension WeakObserved {
    /// Sets the property and returns the replaced referent. No other change comes in between. (P2)
    ///
    /// - Returns: The object to which the property referred before. Nil if there was none, or if it
    ///   has died.
    @discardableResult
    public func exchange(_ newValue: Referent?) -> Referent? { replace(by: newValue).referent }

    /// Sets the property and calls the observers. Returns the replaced box, which no longer
    /// observes the death of its referent.
    private func replace(by referent: Referent?) -> WeakBox<Referent> {
        let box = watchedBox(referent)
        let replaced = storage.exchange(box)
        replaced.stopWatching()
        // The referent is held until here, so that its death finds the property, and the observers
        // receive an object, not nil.
        withExtendedLifetime(referent) {}
        return replaced
    }

    /// Makes a box that refers to an object, and begins to observe the object's death.
    internal func watchedBox(_ referent: Referent?) -> WeakBox<Referent> {
        let box = WeakBox(referent)
        watch(referent, for: box)
        return box
    }

    /// Makes the property nil when `referent` dies, unless `box` is replaced by then.
    private func watch(_ referent: Referent?, for box: WeakBox<Referent>) {
        box.watch(referent) { [weak self] watch in self?.referentDied(watch) }
    }

    /// Makes the property nil. Called on the thread where the referent died, after its `deinit`.
    ///
    /// The thread may have released the last reference in the body of a `modify` or a commit. In a
    /// body, neither the thread nor an observer may make a change, so a thread of the library makes
    /// the property nil. (P5)
    private func referentDied(_ watch: Observer) {
        guard ThreadRecord.isInsideBody else { return becomeNil(watch) }
        ThreadRecord.retire(DeferredAction(for: self) { [weak self] in self?.becomeNil(watch) })
    }

    /// Replaces the present box by a nil box, if `watch` is the observer of the present box. The
    /// function compares boxes, so that it loads no referent. It compares again if another change
    /// came in between.
    private func becomeNil(_ watch: Observer) {
        let present = storage.snapshot().value
        guard present.isWatched(by: watch) else { return }
        storage.compareExchange(expected: present, desired: WeakBox(nil))
    }
}
