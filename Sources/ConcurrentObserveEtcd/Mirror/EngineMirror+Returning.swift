// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Why a session ends although nothing is wrong with it: the server that the mirror prefers is
/// there again.
struct ReturnHome: Error {}

extension EngineMirror {
    /// Waits until the server that the mirror prefers can be used. Returns only by throwing.
    ///
    /// Each mirror that a server has lost comes back at a time of its own, so that they do not ask
    /// all at once.
    ///
    /// - Throws: `ReturnHome`.
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
