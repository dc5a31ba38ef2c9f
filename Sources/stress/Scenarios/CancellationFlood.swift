// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Every thread ends tens of thousands of observations as fast as it can.
    static let cancellationFlood = Scenario(
        name: "cancellation-flood",
        summary: "tens of thousands of cancellations on each thread, as fast as it can",
        invariants: [
            "P16.backlog-bounded", "P14.not-while-called", "P1.all-receive", "P8.all-silent",
            "P5.no-lock-around-user-code", "memory.table-in-use",
        ] + checkedAtRest,
        windows: ["ended 50,000 observations in a row"]
    ) { round in
        round.load { worker in
            let count = 50_000
            let registry = ObserverRegistry<UInt64>()
            var tokens: [ObservationToken] = []
            tokens.reserveCapacity(count)
            for number in 0..<count {
                if number & 1023 == 0 { worker.begin("observe") }
                tokens.append(registry.observe { _ in Worker.current?.countCall() })
            }
            worker.begin("notify")
            let received = worker.pass(registry)
            let calls = received.calls
            worker.check(calls == count, "P1.all-receive", "\(calls) of \(count) observers were called")
            for (number, token) in tokens.enumerated() {
                if number & 1023 == 0 { worker.begin("cancel") }
                token.cancel()
            }
            worker.checkBacklogNow()
            worker.hit(0)
            let silent = worker.pass(registry)
            worker.check(silent.calls == 0, "P8.all-silent", "\(silent.calls) observers were called after cancel()")
        }
        round.checkRest()
    }
}

extension Worker {
    /// Sometimes shows the watchdog that the long notification makes progress. On a busy machine
    /// its delays exceed the time limit of a step.
    fileprivate func countCall() {
        pass.calls += 1
        if pass.calls & 1023 == 0 { begin("notify on") }
    }
}
