// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import stress_product

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
}

private func waitBehindLateFilter() {
    let registry = ObserverRegistry<Int>()
    let token = registry.observe { _ in }
    // With these the table stays: a grace period, in another thread, would end the process in liburcu's own words.
    let others = (0..<10).map { _ in registry.observe { _ in } }
    registry.notify(1)
    MembarrierDenial.deny(with: EPERM)
    withExtendedLifetime(others) { _ = token.cancelAndWaitBlocking() }
}
