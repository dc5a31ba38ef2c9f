// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import StressKit

/// Tests, as a user would, that StressKit finds broken objects and passes correct ones.
extension Rounds.StressTests {
    /// A time that is longer than a bug needs on a busy machine. A run ends when it finds a bug.
    private static let patience = Duration.seconds(60)
    /// The time for which a correct object must pass.
    private static let length = Duration.seconds(1)

    /// Runs `body` with a broken object and with a correct one.
    private func compare(
        _ invariant: String,
        windows: [String] = [],
        _ body: @escaping @Sendable (_ isBroken: Bool, Round) -> Void
    ) throws {
        let summary = try stress("correct", threads: 4, for: Self.length, windows: windows) { body(false, $0) }
        #expect(summary.rounds > 1 && summary.operations > 0)
        let failure = #expect(throws: StressFailure.self) {
            try stress("broken", threads: 4, for: Self.patience) { body(true, $0) }
        }
        let found = try #require(failure)
        #expect(found.violations.map(\.invariant) == [invariant])
        #expect(found.description.contains("STRESS_SEED=\(found.seed)"), "\(found)")
    }

    @Test("A lost update is found")
    func lostUpdate() throws {
        try compare("counter.complete") { isBroken, round in
            let counter = Counter(isBroken: isBroken)
            round.load { worker in
                worker.begin("increment")
                counter.increment()
            }
            round.check(
                UInt64(counter.value) == round.operations,
                "counter.complete",
                "\(counter.value) after \(round.operations) increments"
            )
        }
    }

    @Test("A lock that looks and then takes is found")
    func brokenLock() throws {
        try compare("lock.exclusive", windows: ["entered"]) { isBroken, round in
            let lock = SpinLock(isBroken: isBroken)
            let inside = Atomic<Int>(0)
            round.load { worker in
                worker.begin("lock")
                lock.withLock {
                    if !isBroken { worker.hit("entered") }
                    let others = inside.add(1, ordering: .relaxed).oldValue
                    worker.check(others == 0, "lock.exclusive", "\(others) other threads are inside")
                    inside.subtract(1, ordering: .relaxed)
                }
            }
        }
    }

    @Test("A cache that returns an old value is found; roles have threads of their own")
    func staleCache() throws {
        try compare("cache.current") { isBroken, round in
            let cache = Cache(isBroken: isBroken)
            let replaced = Atomic<Int>(0)
            let reader: @Sendable (Worker) -> Void = { worker in
                worker.begin("read")
                let least = replaced.load(ordering: .acquiring)
                let value = worker.measure("read") { cache.value }
                worker.check(value >= least, "cache.current", "\(value) after \(least) was there")
            }
            let writer: @Sendable (Worker) -> Void = { worker in
                worker.begin("replace")
                let number = Int(worker.operations)
                cache.replace(number)
                replaced.store(number, ordering: .releasing)
            }
            round.load([.init(threads: 3, reader), .init(threads: 1, writer)])
        }
    }

    @Test("A run that misses a window proves nothing, and says which")
    func missedWindow() throws {
        let failure = #expect(throws: StressFailure.self) {
            try stress("vacuous", threads: 1, for: .milliseconds(100), windows: ["hit", "never"]) { round in
                round.load { worker in worker.hit("hit") }
            }
        }
        let found = try #require(failure)
        #expect(found.missedWindows == ["never"] && found.violations.isEmpty)
        #expect(found.description.hasPrefix("vacuous proves nothing: never hit in"))
    }

    @Test("A violation names the thread, its last events, and how to draw the same workload")
    func description() throws {
        let failure = #expect(throws: StressFailure.self) {
            try stress("described", threads: 2, for: .seconds(60), seed: 42) { round in
                round.load { worker in
                    worker.begin("look")
                    worker.note("found", 7)
                    worker.check(worker.index == 0, "toy.first", "thread \(worker.index)")
                }
            }
        }
        let text = try #require(failure).description
        #expect(text.hasPrefix("toy.first is violated (thread 1): thread 1"))
        #expect(text.contains("look 1") && text.contains("found 7"))
        #expect(text.contains("`STRESS_SEED=42 swift test`"))
    }

    @Test("A seed that is given again draws the same workload")
    func seed() throws {
        func numbers(_ seed: UInt64) throws -> [[Int]] {
            let drawn = Mutex([[Int]](repeating: [], count: 2))
            let isFirst = Atomic<Bool>(true)
            try stress("seeded", threads: 2, for: .milliseconds(60), seed: seed) { round in
                let isFirst = isFirst.exchange(false, ordering: .relaxed)
                round.load { worker in
                    worker.begin("draw")
                    let number = worker.random(below: 1_000)
                    guard isFirst else { return }
                    drawn.withLock { if $0[worker.index].count < 20 { $0[worker.index].append(number) } }
                }
            }
            return drawn.withLock { $0 }
        }
        let first = try numbers(7)
        let (again, other) = (try numbers(7), try numbers(8))
        #expect(first.allSatisfy { $0.count == 20 } && first == again && first != other)
    }

    @Test("Calls at the same time run one after the other")
    func inTurn() {
        let running = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            _ = try? stress("in turn", threads: 1, for: .milliseconds(200)) { round in
                #expect(running.add(1, ordering: .relaxed).oldValue == 0)
                round.load { worker in worker.begin("nothing") }
                running.subtract(1, ordering: .relaxed)
            }
        }
    }

    @Test("A thread that hangs ends the process, with a dump of where each thread is")
    func hang() async {
        let result = await #expect(processExitsWith: .exitCode(5), observing: [\.standardErrorContent]) {
            try stress("hanging", threads: 2, for: .seconds(60), patience: .seconds(3)) { round in
                round.load { worker in
                    worker.begin("go on")
                    guard worker.index == 1 else { return }
                    worker.check(false, "toy.reason", "the other thread is late")
                    worker.begin("wait for nothing")
                    DispatchSemaphore(value: 0).wait()
                }
            }
        }
        let dump = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(dump.contains("HANG hanging: seed") && dump.contains("at wait for nothing"))
        #expect(dump.contains("before that, toy.reason was violated: the other thread is late"))
    }

    @Test("A crash names the run, its seed and the thread's last event")
    func crash() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try stress("crashing", threads: 1, for: .seconds(5), seed: 42) { round in
                round.load { worker in
                    worker.begin("reach too far")
                    fatalError("planted")
                }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("scenario crashing, seed 42") && text.contains("reach too far"))
    }

    @Test("Each load of a round takes its length")
    func loads() throws {
        #expect(throws: StressFailure.self) {
            try stress("two loads", threads: 2, for: .milliseconds(300)) { round in
                round.load { worker in worker.begin("first") }
                round.load { worker in worker.check(false, "toy.second", "wrong") }
            }
        }
    }

    @Test("A run that does nothing fails")
    func nothing() {
        #expect(throws: StressFailure.self) { try stress("idle", for: .milliseconds(100)) { _ in } }
    }

    @Test("The calls of a process write one report where the environment asks for it")
    func report() async {
        await #expect(processExitsWith: .success) {
            for ending in ["html", "json", "xml"] {
                let path = NSTemporaryDirectory() + "stresskit-\(getpid()).\(ending)"
                defer { try? FileManager.default.removeItem(atPath: path) }
                unsafe setenv("STRESS_REPORT", path, 1)
                for name in ["first call", "second call"] {
                    _ = try? stress(name, threads: 1, for: .milliseconds(100)) { round in
                        round.load { worker in worker.begin("nothing") }
                        round.check(name == "first call", "toy.first", "<b>")
                    }
                }
                let text = try String(contentsOfFile: path, encoding: .utf8)
                for part in ["first call", "second call", "toy.first"] { precondition(text.contains(part)) }
            }
        }
    }
}

extension Rounds.LinearizableTests {
    private func judge(isBroken: Bool, for duration: Duration) throws -> HistorySummary {
        try linearizable(as: QueueOfTwo.self, for: duration, of: { BoundedQueue(isBroken: isBroken) }) { queue, step in
            step.random(below: 2) == 0
                ? .enqueue(step.unique, hadRoom: queue.enqueue(step.unique)) : .dequeue(queue.dequeue())
        }
    }

    @Test("A queue that loses an item has a history that no order explains; a correct one has none")
    func queue() throws {
        let summary = try judge(isBroken: false, for: .seconds(1))
        #expect(summary.overlapping > 0 && summary.histories >= summary.overlapping)
        let failure = #expect(throws: HistoryFailure.self) { try judge(isBroken: true, for: .seconds(60)) }
        let text = try #require(failure).description
        #expect(text.contains("enqueue") && text.contains("├") && text.contains("STRESS_SEED"))
    }

    @Test("Histories in which nothing overlaps prove nothing")
    func nothingOverlaps() {
        let summary = HistorySummary(seed: 1, histories: 9, overlapping: 0, operations: 18)
        let text = HistoryFailure("apart", summary, nil).description
        #expect(text.hasPrefix("apart proves nothing: no two operations overlapped in 9 histories."))
    }
}
