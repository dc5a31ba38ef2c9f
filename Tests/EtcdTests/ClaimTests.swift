// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

/// Compares what mirrors say of themselves with what etcd had confirmed by then.
private final class Judge: Sendable {
    private struct Write {
        let key: MirrorKey
        let revision: Int64
        let confirmed: ContinuousClock.Instant
    }
    private let writes = Shared<[Write]>([])
    private let isOn = Observed(true)
    /// How many claims were checked, and the oldest contents of a mirror that was ready.
    private let checked = Observed((claims: 0, ready: 0, oldest: Duration.zero))

    private static let keys = (0..<5).map { MirrorKey("/t/k\($0)") }

    var result: (claims: Int, ready: Int, oldest: Duration) { checked.value }
    var count: Int { writes.withLock { $0.count } }

    func stop() { isOn.value = false }

    /// Writes one key after another, at one member until that fails.
    func write(_ urls: [String]) async {
        var index = 0
        while isOn.value {
            index += 1
            try? await TestClient.with(urls[index % urls.count]) { [index] client in
                while isOn.value {
                    let key = Self.keys.randomElement()!
                    let revision = try await client.put(key.description, "\(index)")
                    writes.withLock { $0.append(Write(key: key, revision: revision, confirmed: .now)) }
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
        }
    }

    func watch(_ mirrors: [EtcdMirror<String>]) async {
        while isOn.value {
            for (index, mirror) in mirrors.enumerated() { check(mirror, index) }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    private func check(_ mirror: EtcdMirror<String>, _ index: Int) {
        // The claims first: the contents may only be newer.
        let now = ContinuousClock.now
        let (state, position, lag) = (mirror.state.value, mirror.position.value, mirror.lag.value)
        let contents = mirror.contents.value
        var missing: ContinuousClock.Instant?
        for write in writes.withLock({ $0 }).suffix(10_000) {
            guard write.revision > contents.entries[write.key]?.revision ?? 0 else { continue }
            if missing == nil { missing = write.confirmed }
            if write.revision <= position { Issue.record("mirror \(index): position \(position) without \(write)") }
            if let confirmed = lag.confirmed, write.confirmed < confirmed {
                Issue.record("mirror \(index): confirmed at \(confirmed) without \(write)")
            }
        }
        let age = missing.map { $0.duration(to: now) } ?? .zero
        if state.isReady, age > mirror.configuration.longestAge {
            Issue.record("mirror \(index) is ready, and has missed changes for \(age)")
        }
        checked.modify { checked in
            checked.claims += 1
            guard state.isReady else { return }
            checked.ready += 1
            checked.oldest = max(checked.oldest, age)
        }
    }
}

@Suite("A mirror's claims about itself are true", .timeLimit(.minutes(30)))
struct ClaimTests {
    /// How many faults; `ETCD_FAULTS` says another number.
    private static let faults = ProcessInfo.processInfo.environment["ETCD_FAULTS"].flatMap { Int($0) } ?? 14

    private enum Fault: CaseIterable {
        case stalledWatch, hanging, cutOff, slow, killedMember, stoppedMember, compaction
    }

    @Test(
        "Every 50 ms through a series of faults, no mirror that is ready has missed a change for longer than it says"
    )
    func claims() async throws {
        let etcd = try await EtcdCluster(nodes: 3)
        let proxies = try etcd.nodes.map { try Proxy(to: $0.clientPort) }
        func configure(_ configuration: inout EtcdConfiguration) {
            // Half of the other tests' times: so are the faults' lengths.
            configuration.requestTimeout = .milliseconds(500)
            configuration.probeTimeout = .milliseconds(500)
            configuration.probeInterval = .milliseconds(125)
            configuration.maximumLag = .milliseconds(500)
            configuration.returnInterval = .seconds(1)
        }
        // Each has one member; the last has all. All go through the proxies.
        let mirrors =
            proxies.map { EtcdMirror<String>.test("/t/", [$0.url], configure: configure) }
            + [.test("/t/", proxies.map(\.url), configure: configure)]
        let tasks = mirrors.map { mirror in Task { try await mirror.run() } }
        defer { for task in tasks { task.cancel() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(15)) }
        let judge = Judge()
        defer { judge.stop() }
        async let writing: Void = judge.write(etcd.urls)
        async let watching: Void = judge.watch(mirrors)
        for index in 0..<Self.faults {
            let victim = index % 3
            let length = Duration.milliseconds(Int.random(in: 250...2_500))
            switch Fault.allCases[index % Fault.allCases.count] {
            case .stalledWatch:
                try proxies[victim].command("swallow")
                try await Task.sleep(for: length)
                // Without the end of the connection the watch would go on after what it has left
                // out.
                try proxies[victim].command("drop")
            case .hanging:
                try proxies[victim].command("hang")
                try await Task.sleep(for: length)
                try proxies[victim].command("drop")
            case .cutOff:
                try proxies[victim].command("drop")
                try await Task.sleep(for: length)
            case .slow:
                try proxies[victim].command("delay \(Int.random(in: 10...200))")
                try await Task.sleep(for: length)
            case .killedMember:
                etcd.kill(victim)
                try await Task.sleep(for: length)
                try etcd.start(victim)
            case .stoppedMember:
                etcd.send(SIGSTOP, to: victim)
                try await Task.sleep(for: length)
                etcd.send(SIGCONT, to: victim)
            case .compaction:
                try proxies[victim].command("drop")
                try await Task.sleep(for: length)
                try await TestClient.with(etcd.urls[victim]) { client in
                    try await client.compact(try await client.list("/t/").revision)
                }
            }
            try proxies[victim].command("allow")
            try await etcd.waitUntilHealthy()
            for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(15)) }
        }
        judge.stop()
        _ = await (writing, watching)
        let (claims, ready, oldest) = judge.result
        print(
            "claims: \(Self.faults) faults, \(judge.count) changes, \(claims) claims, \(ready) of them ready; "
                + "the oldest of these had missed changes for \(oldest), with a bound of \(mirrors[0].configuration.longestAge)"
        )
        #expect(ready > 100)
    }
}
#endif
