// SPDX-License-Identifier: Apache-2.0

/// The closure of an observer that is not made yet: some closures need the observation that they
/// belong to.
@usableFromInline
internal enum CallbackForm<Event>: Sendable {
    case plain(@Sendable (Event) -> Void)
    /// Made once, when the observer exists.
    case made(@Sendable (Observer) -> @Sendable (Event) -> Void)
}

extension CallbackForm {
    /// A closure that also receives its observation.
    @inlinable
    static func withHandle(_ body: @escaping @Sendable (Event, ObservationHandle) -> Void) -> CallbackForm {
        .made { observer in
            let handle = ObservationHandle(observer)
            return { event in body(event, handle) }
        }
    }

    /// A closure that receives its owner, and is not called once the owner's `deinit` has begun.
    /// (P13)
    @inlinable
    static func bound<Owner: AnyObject & Sendable>(
        to reference: WeakReference,
        _ body: @escaping @Sendable (Owner, Event) -> Void
    ) -> CallbackForm {
        .made { observer in
            let callback = Callback.bound(to: reference, of: observer, body)
            return callback.body
        }
    }

    /// The closure of `observer`.
    @inlinable @inline(__always)
    func body(for observer: Observer) -> @Sendable (Event) -> Void {
        switch self {
        case .plain(let body): body
        case .made(let make): make(observer)
        }
    }

    /// The form for other events, each of which `transform` makes into one of these, or into nil:
    /// then nothing is called.
    func pulledBack<Other>(_ transform: @escaping @Sendable (Other) -> Event?) -> CallbackForm<Other> {
        switch self {
        case .plain(let body):
            .plain { other in if let event = transform(other) { body(event) } }
        case .made(let make):
            .made { observer in
                let body = make(observer)
                return { other in if let event = transform(other) { body(event) } }
            }
        }
    }
}

extension Observer {
    /// Stores the closure. Once, before the observer is published.
    @inlinable
    func setCallback<Event>(_ form: CallbackForm<Event>) { setCallback(Callback(form.body(for: self))) }
}
