// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import stress

@Suite("The environment as an enemy")
struct EnvironmentTests {
    @Test(
        "A filter that forbids membarrier later ends the process at the next wait, with the cause and the remedy",
        .enabled(if: ConcurrentObserveDiagnostics.current().usesMembarrier)
    )
    func lateFilter() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            waitBehindLateFilter()
            exit(EXIT_SUCCESS)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("membarrier worked at start-up and fails now"))
        #expect(message.contains("allow membarrier in the filter"))
    }

    @Test(
        "It ends a grace period alike, in this library's words, not in liburcu's",
        .enabled(if: ConcurrentObserveDiagnostics.current().usesMembarrier)
    )
    func lateFilterInGracePeriod() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            reclaimBehindLateFilter()
            exit(EXIT_SUCCESS)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("membarrier worked at start-up and fails now"))
        #expect(!message.contains("Unrecoverable error"))
    }
}

/// The reclamation thread starts with the filter in place, and waits for the threads that walk a
/// table which it has replaced.
private func reclaimBehindLateFilter() {
    MembarrierDenial.deny(with: EPERM)
    let registry = ObserverRegistry<Int>()
    let tokens = (0..<20).map { _ in registry.observe { _ in } }
    for token in tokens { token.cancel() }
    ConcurrentObserveDiagnostics.drain()
}

private func waitBehindLateFilter() {
    let registry = ObserverRegistry<Int>()
    let token = registry.observe { _ in }
    // With these the table stays: no grace period, in another thread, ends the process first.
    let others = (0..<10).map { _ in registry.observe { _ in } }
    registry.notify(1)
    MembarrierDenial.deny(with: EPERM)
    withExtendedLifetime(others) { _ = token.cancelAndWaitBlocking() }
}
