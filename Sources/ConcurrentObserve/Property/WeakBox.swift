// SPDX-License-Identifier: Apache-2.0

/// What a weak property stores: a reference that keeps nothing, and the observation of the referent's death.
///
/// Copying one, and destroying it, touches no strong reference: both may happen under a lock. (P5)
internal struct WeakBox<Referent: WeaklyObservable>: Sendable {
    /// The referent while it lives: for the reader a strong reference, which may become the last one. So it is loaded where user
    /// code may run.
    weak let referent: Referent?

    /// Each box has its own, a nil one has none. It ends with the last copy of the box, if not before.
    private let watch: ObservationToken?

    /// Refers to an object, without observing its death yet.
    init(_ referent: Referent?) {
        self.referent = referent
        watch = referent.map { ObservationToken($0.lifetime.makeObserver()) }
    }
}

extension WeakBox {
    /// Calls `body` with the observation when the referent, which the caller holds, dies. Once in the box's life, before others
    /// see it.
    func watch(_ referent: Referent?, _ body: @escaping @Sendable (_ watch: Observer) -> Void) {
        guard let referent, let observer = watch?.observer else { return }
        guard referent.lifetime.owns(observer) else {
            fatalError(
                "ConcurrentObserve: the lifetime of a weak property's referent is not stored in it. Write `let lifetime = ReferentLifetime()` in its class."
            )
        }
        let callback = callback(for: referent) { body(observer) }
        observer.setCallback(Callback<Void> { callback() })
        observer.register()
    }

    /// The closure, which retains no referent.
    private func callback(
        for referent: Referent,
        _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        return body
    }

    /// The referent while it lives. Where user code may run.
    func read() -> Referent? {
        return referent
    }

    /// Whether the box has never referred to an object.
    var isNone: Bool { watch == nil }

    /// Whether `observer` observes this box's referent on its behalf.
    func isWatched(by observer: Observer) -> Bool { watch?.observer === observer }

    /// Ends the observation: the property refers to something else.
    func stopWatching() { watch?.cancel() }
}

/// A value that refers to an object, and does not keep it alive.
internal protocol RefersWeakly {
    /// The object while it lives. Where user code may run, or where the last reference is not released.
    var present: AnyObject? { get }
    /// The type of the object.
    static var referentType: Any.Type { get }
}

extension WeakBox: RefersWeakly {
    static var referentType: Any.Type { Referent.self }
    var present: AnyObject? { referent }
}

/// Boxes are equal if they stem from the same setting of the property, or are nil: the same referent set twice is two boxes.
extension WeakBox: Equatable {
    static func == (left: WeakBox, right: WeakBox) -> Bool { left.watch == right.watch }
}
