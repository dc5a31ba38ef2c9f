// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing
import WallClock

@Suite("Clocks that jump, and processes that stand still", .timeLimit(.minutes(1)), .serialized)
struct ClockTests {
    @Test(
        "The clock on the wall jumps by a day and back: no session ends, nothing is stale; afterwards a dead server is found in time"
    )
    func jumps() async throws {
        let etcd = try await EtcdCluster()
        let metrics = TestMetrics()
        try await withMirror(.test("/t/", etcd.urls, metrics: metrics)) { mirror in
            let states = Recording(mirror.state)
            defer { wall_clock_jump(0) }
            for seconds in [86_400, -86_400, 0, -1_000_000_000] {
                let before = Date()
                wall_clock_jump(seconds)
                #expect(abs(before.timeIntervalSinceNow) > 80_000, "the test's own clock")
                try await Task.sleep(for: .milliseconds(700))
                try await mirror.set("\(seconds)", for: "/t/a")
                #expect(mirror.contents.value["/t/a"] == "\(seconds)")
            }
            #expect(states.values.isEmpty, "\(states.values)")
            #expect(metrics["ended_sessions_total"] <= 0)
            let begin = ContinuousClock.now
            etcd.send(SIGSTOP)
            let stopped = ContinuousClock.now
            wall_clock_jump(1_000_000)
            try await eventually("stale", within: .seconds(4)) { mirror.state.value.name == "stale" }
            guard case .stale(let since, _) = mirror.state.value else { throw TestFailure("not stale") }
            #expect(since > begin - .seconds(2) && since < stopped + .milliseconds(50))
            wall_clock_jump(-1_000_000)
            etcd.send(SIGCONT)
            try await mirror.waitUntilReady(within: .seconds(5))
        }
    }

    @Test("A pause of etcd that is shorter than a request may take ends no session; the changes come")
    func pause() async throws {
        let etcd = try await EtcdCluster()
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>.test("/t/", etcd.urls, metrics: metrics) {
            $0.requestTimeout = .seconds(5)
            $0.probeTimeout = .seconds(5)
        }
        try await withMirror(mirror) { mirror in
            for index in 0..<3 {
                etcd.send(SIGSTOP)
                try await Task.sleep(for: .milliseconds(600))
                etcd.send(SIGCONT)
                try await mirror.set("\(index)", for: "/t/a")
            }
            #expect(metrics["ended_sessions_total"] <= 0)
        }
    }
}
#endif
