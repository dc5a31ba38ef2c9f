// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P9 The system has no thread to give for a moment")
    struct P09ThreadFamineTests {}
}

extension Promises.P09ThreadFamineTests {
    @Test("P9 The second cancelAndWait asks for the library's threads again")
    func secondWait() async {
        await #expect(processExitsWith: .success) {
            let famine = try Famine()
            let (lives, token) = famine.endObservation()
            let returned = Signal("the second wait's return")
            _ = TestThread { if token.cancelAndWaitBlocking() == .finished, lives.alive == 0 { returned.happen() } }
            check(!returned.happens(within: glance), "the library has a thread")
            famine.end()
            try returned.wait()
        }
    }

    @Test("P9 The asynchronous form completes, also where its task is cancelled", arguments: [false, true])
    func asynchronously(isCancelled: Bool) async {
        // An exit test takes no argument in this form.
        if isCancelled {
            await #expect(processExitsWith: .success) { try await waitAsynchronously(isCancelled: true) }
        } else {
            await #expect(processExitsWith: .success) { try await waitAsynchronously(isCancelled: false) }
        }
    }

    @Test("P16 drain asks for the library's threads again, when its own pass is done")
    func drain() async {
        await #expect(processExitsWith: .success) {
            let famine = try Famine()
            let (lives, _) = famine.endObservation()
            let returned = Signal("the drain's return")
            _ = TestThread {
                if ConcurrentObserveDiagnostics.drain() == .finished, lives.alive == 0 { returned.happen() }
            }
            check(!returned.happens(within: glance), "the library has a thread")
            famine.end()
            try returned.wait()
        }
    }

    @Test("P14 An object that is replaced after the famine asks for the library's threads again")
    func replacedObjects() async {
        await #expect(processExitsWith: .success) { try replaceAfterFamine(Mortal.init) }
    }

    @Test("P14 A value whose release runs no code asks again, too")
    func replacedValues() async {
        await #expect(processExitsWith: .success) { try replaceAfterFamine { _ in [1] } }
    }

    @Test("P16 A drain with a deadline ends at it, and the next one finishes")
    func drainWithDeadline() async {
        await #expect(processExitsWith: .success) {
            let famine = try Famine()
            let (lives, _) = famine.endObservation()
            check(drainsBriefly() == .timedOut && lives.alive == 1, "it did not end at its deadline")
            famine.end()
            try Process.settle()
            check(lives.alive == 0, "the closure is not destroyed")
        }
    }
}

/// Drains in the blocking form. An asynchronous caller reaches that form through this function.
private func drainsBriefly() -> WaitOutcome { ConcurrentObserveDiagnostics.drain(deadline: .now + glance) }

private func waitAsynchronously(isCancelled: Bool) async throws {
    let famine = try Famine()
    let (lives, token) = famine.endObservation()
    let begun = Signal("the waiting task's beginning")
    _ = TestThread {
        begun.hold()
        // Long enough for a first attempt.
        _ = Signal("nothing").happens(within: glance)
        famine.end()
    }
    let task = Task {
        begun.happen()
        return await token.cancelAndWait()
    }
    if isCancelled { task.cancel() }
    let outcome = await task.value
    check(outcome == .finished && lives.alive == 0, "it ended with \(outcome), \(lives.alive) closures left")
}

/// Makes a property whose first value was replaced while the library could start no thread.
private func replacedInFamine<Value: Sendable>(_ make: (Counter) -> Value) throws -> (Observed<Value>, Counter) {
    let famine = try Famine()
    let deaths = Counter()
    let property = Observed(make(deaths))
    property.value = make(deaths)
    famine.end()
    return (property, deaths)
}

private func replaceAfterFamine<Value: Sendable>(_ make: (Counter) -> Value) throws {
    let (property, deaths) = try replacedInFamine(make)
    property.value = make(deaths)
    try eventually("the release of both") {
        let now = ConcurrentObserveDiagnostics.current()
        return now.retired == 2 && now.backlog == 0
    }
}

/// A time in which the library has no thread, and can start none.
private final class Famine: Sendable {
    private let over = Signal("the famine's end")
    private let ended = Signal("the end of its thread")

    init() throws {
        check(ConcurrentObserveDiagnostics.current().retired == 0, "the library's threads may exist already")
        let begun = Signal("the famine")
        _ = TestThread { [over, ended] in
            Process.withoutMoreThreads {
                begun.happen()
                over.hold()
            }
            ended.happen()
        }
        try begun.wait()
    }

    func end() {
        over.happen()
        ended.hold()
    }

    /// Ends an observation. Its closure waits for a thread.
    func endObservation() -> (Lives, ObservationToken) {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let life = lives.make()
        let token = registry.observe { _ in life.touch() }
        token.cancel()
        return (lives, token)
    }
}
