// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Many keys, and many mirrors", .timeLimit(.minutes(10)), .serialized)
struct SizeTests {
    private static func number(_ name: String, else standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }
    /// The number of keys. `ETCD_KEYS=1000000` makes the test long.
    private static let keys = number("ETCD_KEYS", else: 10_000)
    /// The number of mirrors. `ETCD_MIRRORS=1000` makes the test long.
    private static let mirrors = number("ETCD_MIRRORS", else: 25)

    private func key(_ index: Int) -> String { "/t/\(10_000_000 + index)" }

    @Test(
        "A long list is read in pages of one revision while others write; a list with too many keys fails, in bounded memory"
    )
    func pages() async throws {
        let (count, etcd) = (Self.keys, try await EtcdCluster())
        try await TestClient.with(etcd.urls[0]) { client in
            for first in stride(from: 0, to: count, by: 100) {
                try await client.commit((first..<min(first + 100, count)).map { .put(key($0), "0") })
            }
            let isWriting = Observed(true)
            let writing = Task {
                var index = 0
                while isWriting.value {
                    index += 1
                    try await client.commit([.put(key(0), "\(index)"), .put(key(count - 1), "\(index)")])
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            func mirror(_ maximum: Int) -> EtcdMirror<String> {
                .test("/t/", etcd.urls) {
                    $0.maximumKeys = maximum
                    $0.pageSize = count / 50
                    $0.requestTimeout = .seconds(5)
                    $0.probeTimeout = .seconds(5)
                }
            }
            let before = memoryOfProcess(getpid())
            try await withMirror(mirror(count - 1), ready: false) { mirror in
                try await eventually("too many") { mirror.state.value.error?.code == .tooManyKeys }
                try await Task.sleep(for: .seconds(1))
                #expect(mirror.contents.value.entries.isEmpty)
            }
            let failed = memoryOfProcess(getpid())
            #expect(failed - before < 32 << 20, "\(failed - before) bytes")
            let listing = mirror(count)
            let seen = Observed<[Bool]>([])
            let token = listing.contents.observe { change in
                let isWhole = change.new[MirrorKey(key(0))] == change.new[MirrorKey(key(count - 1))]
                seen.modify { $0.append(isWhole) }
                // The list lacks all changes that were made while it was read. More follow while
                // the mirror catches up.
                if seen.value.count > 100 { isWriting.value = false }
            }
            let begin = ContinuousClock.now
            try await withMirror(listing, ready: false) { mirror in
                try await eventually("listed", within: .seconds(120)) { !seen.value.isEmpty }
                let time = begin.duration(to: .now)
                // The longer the list took, the further it is behind.
                try await eventually("followed", within: .seconds(60)) { !isWriting.value }
                try await writing.value
                let last = try await client.put("/t/end", "end")
                try await mirror.waitUntil(last, within: .seconds(60))
                let followed = begin.duration(to: .now) - time
                #expect(mirror.contents.value.entries.count == count + 1)
                #expect(seen.value.allSatisfy { $0 })
                print(
                    "\(count) keys: listed in \(time), then up to date in \(followed); memory grew by \((memoryOfProcess(getpid()) - failed) >> 20) MiB"
                )
            }
            token.cancel()
        }
    }

    @Test(
        "Pages have the requested size, and become smaller if one is too large for a message",
        arguments: [(2, Array(repeating: 2, count: 37)), (16, [16, 16, 16, 16, 4, 4, 2])]
    )
    func pageSizes(size: Int, expected: [Int]) async throws {
        let etcd = try await EtcdCluster()
        try await TestClient.with(etcd.urls[0]) { client in
            try await client.commit((0..<62).map { .put("/p/0/\($0)", "") })
            for index in 0..<12 { try await client.put("/p/1/\(index)", String(repeating: "x", count: 150 << 10)) }
        }
        var configuration = EtcdConfiguration(endpoints: etcd.urls)
        configuration.pageSize = size
        configuration.maximumMessageBytes = 1 << 20
        let engine = EtcdEngine(
            range: .prefix("/p/"),
            configuration: configuration,
            metrics: EtcdMetrics(label: "", factory: TestMetrics()),
            clock: MirrorClock(ContinuousClock())
        )
        let pages = Observed<[Int]>([])
        try await engine.withSession(at: engine.servers()[0]) { session in
            _ = try await session.list(at: nil, limit: 100) { page in pages.modify { $0.append(page.count) } }
        }
        #expect(pages.value == expected)
    }

    @Test(
        "A change of one key costs about the same with a hundred keys and with 50,000; old contents stay as they were"
    )
    func change() {
        func item(_ index: Int, _ revision: Int64) -> MirrorItem {
            MirrorItem(key: MirrorKey(key(index)), value: Array("\(revision)".utf8), revision: revision)
        }
        func store(_ count: Int) -> MirrorStore<String> {
            let store = MirrorStore<String>(coding: .text, label: "")
            _ = store.applyList((0..<count).map { item($0, 1) }, of: MirrorMoment(revision: 1, history: 1))
            return store
        }
        func time(_ store: MirrorStore<String>) -> Duration {
            let first = store.position.value + 1
            return ContinuousClock().measure {
                for revision in first..<first + 100 {
                    // A comparison and an observer hold the contents before the change.
                    withExtendedLifetime((store.snapshot, store.contents.value)) {
                        #expect(store.apply([item(Int(revision) % 100, revision)], revision: revision).isEmpty)
                    }
                }
            }
        }
        let (short, long) = (store(100), store(50_000))
        let before = long.contents.value
        let ratios = (0..<9).map { _ in time(long) / time(short) }.sorted()
        #expect(ratios[4] < 10, "\(ratios)")
        #expect(before.entries.allSatisfy { $0.value.value == "1" })
        let after = long.contents.value
        #expect(after.entries.count == 50_000 && after.entries.count { $0.value.value != "1" } == 100)
    }

    @Test("Many mirrors of one server: each shows each change")
    func fleet() async throws {
        let (count, etcd) = (Self.mirrors, try await EtcdCluster())
        let before = (etcd.memory(), memoryOfProcess(getpid()))
        let mirrors = (0..<count).map { _ in
            EtcdMirror<String>.test("/t/", etcd.urls) {
                $0.requestTimeout = .seconds(10)
                $0.probeTimeout = .seconds(10)
                $0.probeInterval = .seconds(5)
            }
        }
        let received = Observed(0)
        let tokens = mirrors.map { $0.contents.observe { _ in received.modify { $0 += 1 } } }
        let tasks = mirrors.map { mirror in Task { try await mirror.run() } }
        defer { for task in tasks { task.cancel() } }
        for mirror in mirrors { try await mirror.waitUntilReady(within: .seconds(60)) }
        let idle = (etcd.memory(), memoryOfProcess(getpid()))
        let begin = ContinuousClock.now
        try await TestClient.with(etcd.urls[0]) { client in
            for index in 0..<100 { try await client.put("/t/k\(index)", String(repeating: "x", count: 200)) }
            try await eventually("all are there", within: .seconds(60)) { received.value == 101 * count }
        }
        let time = begin.duration(to: .now)
        print(
            "\(count) mirrors: 100 changes reached all in \(time); etcd has \((idle.0 - before.0) / count / 1_024) KiB for each, "
                + "the mirrors' process \((idle.1 - before.1) / count / 1_024) KiB"
        )
        #expect(mirrors.allSatisfy { $0.state.value.isReady })
        withExtendedLifetime(tokens) {}
    }
}

/// How many bytes of memory a process has now.
func memoryOfProcess(_ id: Int32) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
}
#endif
