// SPDX-License-Identifier: Apache-2.0

/// Observers that stay registered while others come and go. Each notification must call each of
/// them once. (P1)
struct StableObservers: Sendable {
    let count: Int
    private let tokens: [ObservationToken]

    init(_ registry: ObserverRegistry<UInt64>, count: Int) {
        self.count = count
        tokens = (1...count).map { number in
            registry.observe { _ in
                checkUserCode("callback")
                guard let worker = Worker.current else { return }
                worker.pass.stableCalls += 1
                worker.pass.stableSum += number
            }
        }
    }

    func check(_ pass: PassRecord, _ worker: Worker) {
        worker.check(pass.stableCalls == count && pass.stableSum == count * (count + 1) / 2, "P1.exactly-once") {
            "\(count) standing observers were called \(pass.stableCalls) times, sum of their numbers \(pass.stableSum)"
        }
    }

    /// Checks at rest that no other observer is left. (P1)
    func checkRest(_ round: Round, _ registry: ObserverRegistry<UInt64>) {
        let found = registry.observationCount
        round.check(found == count, "P1.count-at-rest", "\(found) observers, \(count) expected")
        withExtendedLifetime(tokens) { round.checkRest(liveObservers: count) }
    }
}
