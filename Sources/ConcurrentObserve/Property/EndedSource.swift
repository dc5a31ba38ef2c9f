// SPDX-License-Identifier: Apache-2.0

/// A source that is gone before it has a value: an observation of it ends at once.
///
/// A combination uses it when another thread has ended the observation of a member before the
/// member delivered its first value. (P8)
internal final class EndedSource: Sendable {
    private let observers = ObserverList()
    private let reason: ObservationEnd

    private init(_ reason: ObservationEnd) { self.reason = reason }

    deinit { observers.endSource(reason) }

    /// Returns the token of an observation that has ended. The observer is not called.
    static func attach<Value>(_ observer: PropertyObserver<Value>, _ reason: ObservationEnd) -> ObservationToken {
        let source = EndedSource(reason)
        let token = source.begin(observer)
        // Ends an observation behind a mailbox here, too, and not when the library's threads get to
        // it.
        source.observers.existingCore?.removeAll { _ in reason }
        return token
    }

    private func begin<Value>(_ observer: PropertyObserver<Value>) -> ObservationToken {
        switch observer.form {
        case .inline(let callback):
            let inner = observers.makeObserver(owner: observer.owner)
            inner.setCallback(callback)
            inner.register()
            return ObservationToken(inner)
        case .mailbox(let factory):
            let receiver = factory.make()
            let inner = observers.makeObserver(
                of: .mailboxes(),
                holding: HeldObject(receiver),
                owner: observer.owner
            )
            let token = receiver.join(inner)
            inner.register()
            receiver.hasJoined()
            return token ?? ObservationToken(inner)
        }
    }
}
