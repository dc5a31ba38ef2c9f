// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import ConcurrentObserveTesting
import Foundation
import Testing

/// Pauses and limits are exact, to a nanosecond, and none of their time passes.
@Suite("A mirror on a clock that the test advances", .timeLimit(.minutes(1)))
struct ManualClockTests {
    private let clock = ManualClock()
    private let engine = MemoryEngine()
    private let metrics = TestMetrics()
    private let instant = Duration.nanoseconds(1)

    private func mirror(
        configure: (inout MirrorConfiguration) -> Void = { _ in }
    ) -> EngineMirror<MemoryEngine, String> {
        mirror(of: engine, configure: configure)
    }

    private func mirror<Engine: MirrorEngine>(
        of engine: Engine,
        configure: (inout MirrorConfiguration) -> Void
    ) -> EngineMirror<Engine, String> {
        var configuration = MirrorConfiguration()
        configuration.serverOrder = .asGiven
        configure(&configuration)
        return EngineMirror(
            following: engine,
            configuration: configuration,
            coding: .text,
            factory: metrics,
            clock: clock
        )
    }

    @Test("The continuous clock keeps its instants; those of another clock count its time from the mirror's making")
    func instants() async throws {
        let before = ContinuousClock.now
        let continuous = MirrorClock(ContinuousClock()).now
        #expect(before <= continuous && continuous <= .now)
        clock.advance(by: .seconds(1_000))
        let manual = MirrorClock(clock)
        let made = manual.now
        #expect(before <= made && made <= .now)
        clock.advance(by: .seconds(7))
        #expect(manual.now == made + .seconds(7))
        let sleep = Task { try await manual.sleep(until: made + .seconds(9)) }
        try await clock.whenSleeping()
        clock.advance(by: .seconds(2) - instant)
        #expect(clock.sleepers == 1)
        clock.advance(by: instant)
        #expect(clock.sleepers == 0)
        try await sleep.value
    }

    @Test("Minutes of probes: each confirms the contents at the clock's own instant, and `age` is the clock's time")
    func probes() async throws {
        try await withMirror(mirror()) { mirror in
            let first = mirror.lag.value.confirmed!
            for _ in 0..<150 {
                // The next probe, the next comparison, and the look at the age.
                try await clock.whenSleeping(3)
                clock.advance(by: .seconds(1))
                #expect(mirror.lag.value.age == .seconds(1))
                clock.advance(by: .seconds(1))
                try await eventually("confirmed") { mirror.lag.value.age == .zero }
            }
            #expect(first.duration(to: mirror.lag.value.confirmed!) == .seconds(300))
            #expect(metrics[engine: "memory", "ended_sessions_total"] <= 0)
        }
    }

    private func failed(_ attempt: Int, _ mirror: EngineMirror<MemoryEngine, String>) async throws {
        try await eventually("attempt \(attempt) has failed") { mirror.isPaused(clock, metrics, after: attempt) }
    }

    @Test("The pauses between attempts double up to the longest: none ends before its half, or after the whole")
    func backoff() async throws {
        engine.stop()
        try await withMirror(mirror { $0.probeInterval = .seconds(1_000) }, ready: false) { mirror in
            for (index, whole) in [100, 200, 400, 800, 1_600, 2_000, 2_000].enumerated() {
                try await failed(index + 1, mirror)
                clock.advance(by: .milliseconds(whole / 2) - instant)
                #expect(clock.sleepers == 2)
                clock.advance(by: .milliseconds(whole / 2) + instant)
            }
            try await failed(8, mirror)
            #expect(mirror.state.value.error?.code == .unreachable)
            engine.start()
            clock.advance(by: .seconds(2))
            try await eventually("ready") { mirror.state.value.isReady }
        }
    }

    @Test("After a failure that repetition does not cure the pause is `afterFailure`; a good session resets the pauses")
    func failure() async throws {
        engine.commit(["a": "1", "b": "1"])
        let mirror = mirror {
            $0.probeInterval = .seconds(1_000)
            $0.maximumKeys = 1
        }
        try await withMirror(mirror, ready: false) { mirror in
            try await failed(1, mirror)
            #expect(mirror.state.value.name == "failed")
            clock.advance(by: .seconds(15) - instant)
            #expect(clock.sleepers == 2)
            engine.commit(["b": nil])
            clock.advance(by: .seconds(15) + instant)
            try await eventually("ready") { mirror.state.value.isReady }
            try await clock.whenSleeping(3)
            clock.advance(by: .seconds(5) + instant)
            engine.stop()
            try await failed(2, mirror)
            // The first pause, as after the first failure of all.
            clock.advance(by: .milliseconds(100))
            try await failed(3, mirror)
        }
    }

    @Test(
        "Contents that nothing confirms, since the mirror's task is held up, are stale after `longestAge`; the session goes on"
    )
    func stale() async throws {
        try await withMirror(mirror()) { mirror in
            let (longest, interval) = (mirror.configuration.longestAge, mirror.configuration.probeInterval)
            let confirmed = mirror.lag.value.confirmed!
            // The contents are known, and the observer keeps them from being shown.
            let isHeld = Observed(true)
            let token = mirror.contents.observe { _ in while isHeld.value { usleep(1_000) } }
            defer { isHeld.value = false }
            engine.commit(["a": "1"])
            try await eventually("held") { mirror.contents.value["a"] == "1" }
            // `maximumLag` is over before: probes find a revision, and the watch brings nothing.
            for _ in 0..<7 {
                try await clock.whenSleeping(3)
                clock.advance(by: interval)
            }
            try await clock.whenSleeping(3)
            clock.advance(by: longest - interval * 7 - instant)
            try await clock.whenSleeping(2)
            #expect(mirror.state.value.isReady)
            clock.advance(by: instant)
            try await eventually("stale") { !mirror.state.value.isReady }
            guard case .stale(let since, _) = mirror.state.value else { throw TestFailure("not stale") }
            #expect(since == confirmed && mirror.lag.value.age == longest)
            isHeld.value = false
            token.cancel()
            try await eventually("ready", advancing: clock, by: interval) {
                mirror.state.value.isReady
            }
            #expect(metrics[engine: "memory", "ended_sessions_total"] <= 0)
        }
    }

    @Test("The limit of a wait is the clock's")
    func waits() async throws {
        try await withMirror(mirror { $0.probeInterval = .seconds(1_000) }) { mirror in
            try await clock.whenSleeping(3)
            let waiting = Task { try await mirror.waitUntil(99, within: .seconds(60)) }
            try await clock.whenSleeping(4)
            clock.advance(by: .seconds(60) - instant)
            #expect(clock.sleepers == 4)
            clock.advance(by: instant)
            let error = await #expect(throws: MirrorError.self) { try await waiting.value }
            #expect(error?.code == .behind && error?.message.contains("60.0 seconds") == true)
        }
    }

    @Test("The first comparison comes after three to five quarters of its interval")
    func comparisons() async throws {
        try await withMirror(mirror { $0.probeInterval = .seconds(1_000) }) { mirror in
            try await clock.whenSleeping(3)
            clock.advance(by: .seconds(225) - instant)
            #expect(clock.sleepers == 3)
            clock.advance(by: .seconds(150) + instant)
            try await eventually("compared") { metrics[engine: "memory", "comparisons_total"] == 1 }
            #expect(mirror.state.value.isReady)
        }
    }

    @Test("A mirror asks the server that it prefers after half to one and a half of `returnInterval`, and returns")
    func returns() async throws {
        let pair = Pair()
        try await withMirror(mirror(of: pair) { $0.probeInterval = .seconds(1_000) }) { mirror in
            #expect(pair.asked.value == ["first", "second"])
            pair.isWhole.value = true
            // The return is one more.
            try await clock.whenSleeping(4)
            clock.advance(by: .seconds(150) - instant)
            #expect(pair.asked.value.count == 2)
            let states = Recording(mirror.state)
            clock.advance(by: .seconds(300) + instant)
            try await eventually("back") { pair.asked.value == ["first", "second", "first", "first"] }
            #expect(states.values.allSatisfy { $0.isReady })
        }
    }

    /// An engine with two servers. The first is away until the engine is whole.
    private struct Pair: MirrorEngine {
        static let name = "pair"
        let isWhole = Observed(false)
        /// Where sessions were asked for.
        let asked = Observed<[String]>([])
        private let memory = MemoryEngine()

        func servers() -> [String] { ["first", "second"] }

        func withSession(
            at server: String,
            _ body: @escaping @Sendable (MemoryEngine.Session) async throws -> Void
        ) async throws {
            asked.modify { $0.append(server) }
            if server == "first", !isWhole.value { throw MirrorError(.unreachable, "it is away") }
            try await memory.withSession(at: server, body)
        }
    }
}
#endif
