// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Tasks wait for a value. A thread sets the value, the time limit passes, a task is cancelled,
    /// or the source dies.
    static let firstValue = Scenario(
        name: "first-value",
        summary:
            "tasks wait for a value that is set, until a timeout, a cancellation, or the source's death: a value in time is found",
        invariants: [
            "P4.value-before-timeout", "P5.no-lock-around-user-code", "P8.cancelled-task-goes-on",
            "P8.iterator-leaves-nothing",
        ] + checkedAtRest,
        windows: ["a value was accepted", "the time was over", "the task was cancelled", "the source died"]
    ) { round in
        round.load { worker in
            worker.begin("wait for a value")
            worker.waitForValue()
        }
        round.checkRest()
    }
}

extension Worker {
    /// Makes a property that no other thread uses, and a task that waits for its second change.
    fileprivate func waitForValue() {
        var property: Observed<UInt64>? = Observed(0)
        let timeout = Duration.microseconds(generator.below(400))
        // The task looks at the first change for this time. Within it the second change comes, and
        // the time limit passes.
        let pause = UInt64(generator.below(4)) * 100_000
        let (isSet, end) = (!generator.oneIn(4), generator.below(4))
        let begin = ContinuousClock.now
        let wait = AwaitedTask(on: WatchedExecutor.shared) { [source = Guarded(property)] in
            await outcome(of: source, timeout, pause)
        }
        if generator.oneIn(2) { spin(nanoseconds: UInt64(generator.below(200)) * 1_000) }
        property!.value = 1
        if isSet { property!.value = 2 }
        let isInTime = isSet && ContinuousClock.now < begin + timeout
        if end == 0 { wait.task.cancel() }
        if end == 1 { property = nil }
        guard let outcome = wait.resultInTime() else {
            return check(false, "P8.cancelled-task-goes-on", "a task has waited for its value for ten seconds")
        }
        hit(outcome.rawValue)
        let isRight = !isInTime || end == 0 || outcome == .accepted
        check(isRight, "P4.value-before-timeout", "a value was set in time, and the wait for it ended as \(outcome)")
        let count = property?.observationCount ?? 0
        check(count == 0, "P8.iterator-leaves-nothing", "\(count) waits are served that are over")
    }
}

/// The way in which a wait has ended. The numbers are the indices of the scenario's windows.
private enum Outcome: Int, Sendable { case accepted, timedOut, cancelled, ended }

/// Waits for the value 2, and returns how the wait ended.
private func outcome(of source: Guarded<Observed<UInt64>?>, _ timeout: Duration, _ pause: UInt64) async -> Outcome {
    do {
        // The task has no other reference to the property while it waits.
        try await source.withLock({ $0.take()! }).first(timeout: timeout) { number in
            checkUserCode("predicate")
            if number == 1 { spin(nanoseconds: pause) }
            return number == 2
        }
        return .accepted
    } catch is ObservationTimeout<UInt64> {
        return .timedOut
    } catch is ObservationEnd {
        return .ended
    } catch {
        return .cancelled
    }
}
