// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Ends a session that has no fault, because the server that the mirror prefers is available again.
struct ReturnHome: Error {}

extension EngineMirror {
    /// Waits until the server that the mirror prefers can be used. Runs until it throws.
    ///
    /// The pauses between attempts are random. If many mirrors lost a server, they do not all ask
    /// it at the same moment.
    ///
    /// - Throws: `ReturnHome` when the server can be used. `CancellationError` if the task is
    ///   cancelled.
    func waitForHome(_ home: Engine.Server) async throws {
        var generator = SystemRandomNumberGenerator()
        while true {
            try await clock.sleep(for: configuration.returnPause(using: &generator))
            guard await isUsable(home), !Task.isCancelled else { continue }
            await suspend()
            throw ReturnHome()
        }
    }

    private func isUsable(_ server: Engine.Server) async -> Bool {
        let known = store.snapshot
        let answer = Shared<MirrorMoment?>(nil)
        do {
            try await withLimit(configuration.requestTimeout, MirrorError(.unreachable, "no answer in time")) {
                try await self.engine.withSession(at: server) { session in
                    let moment = try await session.probe()
                    answer.withLock { $0 = moment }
                }
            }
        } catch {
            return false
        }
        guard let moment = answer.withLock({ $0 }) else { return false }
        return moment.history == known.history && moment.revision >= known.position
    }
}
#endif
