// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve

extension EngineMirror {
    /// Waits until the contents are complete up to a revision.
    ///
    /// - Throws: `MirrorError` if the limit passes first. Its code is the code of the error in
    ///   ``state``, or `behind` if ``state`` has no error. `CancellationError` if the task is
    ///   cancelled.
    public func waitUntil(_ revision: Int64, within limit: Duration) async throws {
        try await wait(for: position, within: limit, "the mirror has not reached revision \(revision)") {
            $0 >= revision
        }
    }

    /// Waits until the contents are those that the engine had when the call began, or newer ones.
    ///
    /// The mirror asks the engine at once. Calls that begin during a request share the next
    /// request. If the engine's newest revision may belong to other keys, the mirror has to look at
    /// its own keys. For that, etcd reads all of them.
    ///
    /// - Throws: `MirrorError` if the limit passes first. Its code is the code of the error in
    ///   ``state``, or `behind` if ``state`` has no error. `CancellationError` if the task is
    ///   cancelled.
    public func waitUntilCurrent(within limit: Duration) async throws {
        let now = clock.now
        wanted.modify { $0 = max($0 ?? now, now) }
        try await wait(for: lag, within: limit, "the engine has not confirmed the contents") { lag in
            lag.confirmed.map { $0 >= now } ?? false
        }
    }

    /// Waits until the mirror is ready: its contents count as current.
    ///
    /// - Throws: `MirrorError` if the limit passes first. Its code is the code of the error in
    ///   ``state``, or `behind` if ``state`` has no error. `CancellationError` if the task is
    ///   cancelled.
    public func waitUntilReady(within limit: Duration) async throws {
        try await wait(for: state, within: limit, "the mirror is not ready") { $0.isReady }
    }

    /// Waits until the mirror shows a revision that it has written.
    ///
    /// - Throws: `MirrorError` of the code `notShown` if ``MirrorConfiguration/requestTimeout``
    ///   passes first. `CancellationError` if the task is cancelled.
    func waitUntilShown(_ revision: Int64) async throws {
        do {
            try await waitUntil(revision, within: configuration.requestTimeout)
        } catch let error as MirrorError {
            throw MirrorError(.notShown, "revision \(revision) was written, and is not shown yet: \(error)")
        }
    }

    func wait<Shown: Sendable>(
        for property: ReadOnly<Shown>,
        within limit: Duration,
        _ failure: String,
        until condition: (Shown) -> Bool
    ) async throws {
        if condition(property.value) { return }
        do {
            try await property.first(timeout: limit, clock: clock, where: condition)
        } catch is ObservationTimeout<Shown> {
            let error = state.value.error
            let cause = error.map { ": \($0)" } ?? ""
            throw MirrorError(error?.code ?? .behind, "\(failure) after \(limit)\(cause)")
        } catch is ObservationEnd {
            // The program has cancelled the property's observations.
            throw CancellationError()
        }
    }
}
#endif
