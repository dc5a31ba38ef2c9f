// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import Testing

@Suite("A watch's messages become the right events", .timeLimit(.minutes(1)))
struct WatchMachineTests {
    private func machine(at position: Int64 = 10, trusts: Bool = false) throws -> WatchMachine {
        var machine = WatchMachine(range: .prefix("k"), position: position, trustsProgressAnswers: trusts)
        #expect(try machine.receive(WatchMessage(watchID: 7, headerRevision: 99, isCreated: true)) == [.started])
        return machine
    }

    private func event(_ key: MirrorKey, _ revision: Int64) -> MirrorItem {
        MirrorItem(key: key, value: [1], revision: revision)
    }

    private func message(_ events: [MirrorItem], header: Int64 = 99, isFragment: Bool = false) -> WatchMessage {
        WatchMessage(watchID: 7, headerRevision: header, isFragment: isFragment, events: events)
    }

    private func revision(_ events: [MirrorItem]) -> MirrorMessage {
        .change(revision: events[0].revision, events)
    }

    @Test("The watch begins with the revision after the position")
    func start() throws { #expect(try machine(at: 10).startRevision == 11) }

    @Test("The events of one revision are one output, whatever message they came in; their header is no bookmark")
    func groups() throws {
        var machine = try machine()
        let (a, b, c) = (event("k1", 11), event("k2", 11), event("k1", 13))
        #expect(try machine.receive(message([a, b, c])) == [revision([a, b]), revision([c])])
        #expect(machine.position == 13)
    }

    @Test("Fragments are applied together, or not at all")
    func fragments() throws {
        var machine = try machine()
        let (a, b, c) = (event("k1", 11), event("k2", 11), event("k3", 12))
        #expect(try machine.receive(message([a], isFragment: true)) == [])
        #expect(try machine.receive(message([b], isFragment: true)) == [])
        #expect(machine.position == 10)
        #expect(try machine.receive(message([c])) == [revision([a, b]), revision([c])])
    }

    @Test(
        "All revisions of a fragment but the last one are whole and are applied at once; the last one waits for its end"
    )
    func revisionsOfFragments() throws {
        var machine = try machine()
        let (a, b, c) = (event("k1", 11), event("k1", 12), event("k2", 12))
        #expect(try machine.receive(message([a, b], isFragment: true)) == [revision([a])])
        #expect(machine.position == 11)
        #expect(try machine.receive(message([c], isFragment: true)) == [])
        #expect(try machine.receive(message([event("k1", 13)])) == [revision([b, c]), revision([event("k1", 13)])])
    }

    @Test("A revision whose events take too much memory is refused, also if they are empty")
    func largeRevision() throws {
        var machine = WatchMachine(range: .prefix(""), position: 10, trustsProgressAnswers: false, maximumBytes: 10_000)
        _ = try machine.receive(WatchMessage(watchID: 7, isCreated: true))
        // Many revisions are no more than one.
        for revision in 11..<200 {
            let next = event(MirrorKey([UInt8](repeating: 1, count: 1_000)), Int64(revision))
            #expect(try machine.receive(message([next], isFragment: true)).count == (revision == 11 ? 0 : 1))
        }
        let empty = MirrorItem(key: "", value: nil, revision: 200)
        #expect(throws: MirrorError.self) {
            for _ in 0..<100 { _ = try machine.receive(message([empty], isFragment: true)) }
        }
    }

    @Test("Between fragments no bookmark counts")
    func bookmarkBetweenFragments() throws {
        var machine = try machine(trusts: true)
        let (a, b) = (event("k1", 11), event("k2", 11))
        #expect(try machine.receive(message([a], isFragment: true)) == [])
        #expect(try machine.receive(WatchMessage(watchID: -1, headerRevision: 20)) == [])
        #expect(try machine.receive(message([b])) == [revision([a, b])])
    }

    @Test("A progress notification moves the position, and never back")
    func bookmarks() throws {
        var machine = try machine()
        #expect(try machine.receive(message([], header: 20)) == [.complete(upTo: 20)])
        #expect(try machine.receive(message([], header: 15)) == [])
        #expect(machine.startRevision == 21)
    }

    @Test("An answer to a progress request counts with servers that keep it in order", arguments: [false, true])
    func progressAnswers(trusts: Bool) throws {
        var machine = try machine(trusts: trusts)
        let output = try machine.receive(WatchMessage(watchID: -1, headerRevision: 20))
        #expect(output == (trusts ? [.complete(upTo: 20)] : []))
    }

    @Test("A compacted watch says so; any other end is an error")
    func ends() throws {
        var machine = try machine()
        let compacted = #expect(throws: MirrorError.self) {
            try machine.receive(WatchMessage(watchID: 7, isCanceled: true, compactRevision: 30))
        }
        #expect(compacted?.code == .revisionGone)
        let other = #expect(throws: MirrorError.self) {
            try machine.receive(WatchMessage(watchID: 7, isCanceled: true, cancelReason: "etcdserver: no leader"))
        }
        #expect(other?.code == .noLeader)
    }

    @Test(
        "A message that etcd never sends is refused",
        arguments: [
            [("k1", 10)], [("k1", 12), ("k1", 11)], [("x", 11)], [("k1", 0)], [("k1", 11), ("k2", 12), ("k1", 11)],
        ] as [[(MirrorKey, Int64)]]
    )
    func violations(_ events: [(MirrorKey, Int64)]) throws {
        var machine = try machine()
        let error = try #require(throws: MirrorError.self) {
            try machine.receive(message(events.map { event($0.0, $0.1) }))
        }
        #expect(error.code == .protocolViolation)
        #expect(machine.position == 10)
    }

    @Test("A message of another watch is refused")
    func otherWatch() throws {
        var machine = try machine()
        #expect(throws: MirrorError.self) {
            try machine.receive(WatchMessage(watchID: 8, events: [event("k", 11)]))
        }
    }

    @Test("The version decides whether answers to progress requests count")
    func versions() {
        let trusted = ["3.4.25", "3.4.99", "3.5.8", "3.6.0", "4.0.0"]
        let others = ["3.3.99", "3.4.23", "3.5.7"]
        for text in trusted { #expect(ServerVersion(text)?.ordersProgressAnswers == true, "\(text)") }
        for text in others { #expect(ServerVersion(text)?.ordersProgressAnswers == false, "\(text)") }
        #expect(ServerVersion("") == nil)
    }

    @Test("A prefix ends where the next begins")
    func prefixes() {
        #expect(EtcdRange.prefix("ab").end == "ac")
        #expect(EtcdRange.prefix(MirrorKey([0x61, 0xFF])).end == "b")
        #expect(EtcdRange.prefix("").end == MirrorKey([0]))
        #expect(EtcdRange.prefix(MirrorKey([0xFF])).contains(MirrorKey([0xFF, 0xFF])))
        #expect(!EtcdRange.prefix("ab").contains("ac"))
        #expect(!EtcdRange.key("ab").contains("abc"))
    }

    @Test("Pauses double up to the longest, and are drawn from the upper half")
    func pauses() {
        var generator = SystemRandomNumberGenerator()
        let backoff = MirrorConfiguration.Backoff()
        for (round, whole) in [(1, 100), (2, 200), (5, 1_600), (6, 2_000), (1_000, 2_000)] {
            let pause = backoff.pause(round: round, isCurable: true, using: &generator)
            #expect(pause >= .milliseconds(whole / 2) && pause <= .milliseconds(whole), "round \(round)")
        }
        #expect(backoff.pause(round: 1, isCurable: false, using: &generator) >= .seconds(15))
    }

    @Test(
        "URLs that name no endpoint are refused",
        arguments: [
            "", "127.0.0.1:2379", "http://", "http://a", "http://:1", "http://a:0", "http://a:65536", "http://a/b:1",
        ]
    )
    func urls(_ url: String) { #expect(throws: MirrorError.self) { try EtcdEndpoint(url) } }
}
#endif
