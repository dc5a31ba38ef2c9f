// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Threads change a property while an asynchronous function computes results from it.
    static let asyncRuns = Scenario(
        name: "async-runs",
        summary:
            "an asynchronous function computes from a property that threads change: results come in order, the last is of the last value",
        invariants: [
            "P22.async-order", "P22.async-last", "P22.async-pending", "P5.no-lock-around-user-code", "P14.nothing-left",
            "P16.backlog-drains",
        ],
        windows: ["a run was overtaken", "a result was published under writers"]
    ) { round in
        race(round)
        round.checkRest()
    }
}

/// A function of its own, so that the witness is gone when it returns.
private func race(_ round: Round) {
    let results = ResultWitness(round)
    round.load { worker in
        worker.begin("change")
        let (published, overtaken) = (results.published.value, results.overtaken.value)
        results.source.modify { $0 += 1 }
        spin(nanoseconds: UInt64(worker.generator.below(64)) * 1_000)
        if results.overtaken.value > overtaken { worker.hit(0) }
        if results.published.value > published { worker.hit(1) }
    }
    if round.violations.isEmpty { results.settle() }
}

/// An observer of the results. Each result is the number from which it was computed.
private final class ResultWitness: Sendable {
    let source = Observed<UInt64>(1)
    private let round: Round
    private let runs: AsyncDerived<UInt64>
    private let token: ObservationToken
    /// Counts the results that were published, and the runs that were replaced by later ones.
    let (published, overtaken) = (Tally(), Tally())

    init(_ round: Round) {
        self.round = round
        runs = AsyncDerived(source) { [overtaken] number in
            checkUserCode("function")
            for _ in 0..<number & 3 { await Task.yield() }
            checkUserCode("function")
            if Task.isCancelled { overtaken.increment() }
            // A run that was replaced returns its result, too.
            return number
        }
        let latest = Guarded<UInt64>(0)
        token = runs.observe(delivery: .serial()) { [published] change in
            checkUserCode("callback")
            guard case .success(let number) = change.new else { return }
            published.increment()
            let last = latest.withLock { latest in
                defer { latest = number }
                return latest
            }
            round.check(number >= last, "P22.async-order", "after the result of \(last) came that of \(number)")
        }
    }

    /// Waits for the result that belongs to the last value.
    func settle() {
        let number = source.value
        round.wait(
            for: "P22.async-last",
            "the value is \(number), the last result \(String(describing: runs.last)), and nothing moves",
            moving: { published.value &+ overtaken.value }
        ) { runs.last == number }
        source.value = number + 1
        let result = try? runs.value?.get()
        let isNew = result == nil || result == number + 1
        round.check(isNew, "P22.async-pending", "after the source was set, the result is of an earlier value")
        token.cancelAndWaitBlocking()
    }
}
