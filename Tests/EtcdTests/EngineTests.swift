// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import ConcurrentObserveEtcd
import Foundation
import Testing

/// Tests of the public protocol: nothing here knows etcd.
@Suite("Mirrors of another engine", .timeLimit(.minutes(1)))
struct EngineTests {
    private var configuration: MirrorConfiguration {
        var configuration = MirrorConfiguration()
        configuration.probeInterval = .milliseconds(20)
        configuration.backoff.first = .milliseconds(5)
        configuration.backoff.longest = .milliseconds(20)
        return configuration
    }

    private func mirror(_ engine: MemoryEngine) -> EngineMirror<MemoryEngine, String> {
        EngineMirror(following: engine, configuration: configuration, coding: .text)
    }

    private func shown(_ contents: MirrorContents<String>) -> [MirrorKey: String] {
        contents.entries.mapValues(\.value)
    }

    private func isEqual(_ mirror: EngineMirror<MemoryEngine, String>, _ engine: MemoryEngine) -> Bool {
        mirror.contents.value.entries.mapValues(\.revision) == engine.values.mapValues(\.revision)
    }

    @Test("It lists, follows and resumes: each revision is one change, in order, whole, none twice, none left out")
    func resumes() async throws {
        let engine = MemoryEngine()
        engine.commit(["a": "0", "b": "0"])
        try await withMirror(mirror(engine)) { mirror in
            let seen = Recording(mirror.contents)
            async let writing: Void = {
                for index in 1...2_000 {
                    engine.commit(["a": "\(index)", "b": "\(index)", "c": index % 3 == 0 ? nil : "x"])
                    if index % 10 == 0 { try await Task.sleep(for: .milliseconds(1)) }
                }
            }()
            for _ in 0..<10 {
                engine.stop()
                try await eventually("stale") { mirror.state.value.name == "stale" }
                engine.start()
                try await mirror.waitUntilReady(within: .seconds(5))
            }
            try await writing
            try await mirror.waitUntil(engine.revision, within: .seconds(5))
            #expect(isEqual(mirror, engine))
            let revisions = seen.values.map(\.revision)
            #expect(revisions == Array(2...2_001))
            #expect(seen.values.allSatisfy { $0["a"] == $0["b"] && $0["a"] == "\($0.revision - 1)" })
        }
    }

    @Test(
        "A mirror lists again, as one change, after history or data is lost, also if the revisions have grown past its own"
    )
    func gone() async throws {
        let engine = MemoryEngine()
        engine.commit(["a": "1", "b": "1"])
        try await withMirror(mirror(engine)) { mirror in
            func breakAndHeal(_ body: () -> Void) async throws -> [MirrorContents<String>] {
                let seen = Recording(mirror.contents)
                engine.stop()
                try await eventually("stale") { mirror.state.value.name == "stale" }
                body()
                engine.start()
                try await mirror.waitUntilReady(within: .seconds(5))
                return seen.values
            }
            let compacted = try await breakAndHeal {
                for index in 0..<5 { engine.commit(["a": "\(index)"]) }
                engine.compact()
            }
            #expect(compacted.map(\.isFromList) == [true] && mirror.contents.value["a"] == "4")
            let quiet = try await breakAndHeal { engine.compact() }
            #expect(quiet.isEmpty)
            for count in [1, 50] {
                let lost = try await breakAndHeal {
                    engine.loseEverything()
                    engine.stop()
                    for index in 0..<count { engine.commit(["n": "\(index)"]) }
                }
                #expect(lost.map(\.isFromList) == [true])
                #expect(shown(mirror.contents.value) == ["n": "\(count - 1)"])
                #expect(mirror.position.value == Int64(count))
            }
        }
    }

    /// An engine that breaks a promise in its watch.
    private struct Liar: MirrorEngine {
        static let name = "liar"
        let messages: [MirrorMessage]

        func servers() -> [String] { ["one", "two"] }

        func withSession(at server: String, _ body: @escaping @Sendable (Session) async throws -> Void) async throws {
            try await body(Session(messages: messages))
        }

        struct Session: MirrorSession {
            let messages: [MirrorMessage]
            func list(at revision: Int64?, limit: Int, page: ([MirrorItem]) throws -> Void) async throws -> MirrorMoment
            {
                try page([MirrorItem(key: "a", value: [0x31], revision: 5)])
                return MirrorMoment(revision: 10)
            }
            func watch(
                from revision: Int64,
                receive: @escaping @Sendable (MirrorMessage) async throws -> Void
            ) async throws {
                for message in [.started] + messages { try await receive(message) }
                try await Task.sleep(for: .seconds(60))
            }
            func probe() async throws -> MirrorMoment { MirrorMoment(revision: 20) }
        }
    }

    @Test(
        "A change at or below the position, and one that comes twice, end the session; the last good contents stay",
        arguments: [[10], [11, 11], [12, 11]]
    )
    func violations(_ revisions: [Int64]) async throws {
        let messages = revisions.map {
            MirrorMessage.change(revision: $0, [MirrorItem(key: "b", value: [], revision: $0)])
        }
        let mirror = EngineMirror<Liar, String>(
            following: Liar(messages: messages),
            configuration: configuration,
            coding: .text
        )
        let seen = Recording(mirror.contents)
        try await withMirror(mirror, ready: false) { mirror in
            try await eventually("an error") { mirror.state.value.error?.code == .protocolViolation }
            #expect(mirror.contents.value["a"] == "1")
            #expect(seen.values.filter { !$0.isFromList }.allSatisfy { $0.revision > 10 })
        }
    }

    @Test("Progress moves the position, never back, and changes no contents")
    func progress() async throws {
        let messages: [MirrorMessage] = [.complete(upTo: 20), .complete(upTo: 15)]
        let mirror = EngineMirror<Liar, String>(
            following: Liar(messages: messages),
            configuration: configuration,
            coding: .text
        )
        let (positions, seen) = (Recording(mirror.position), Recording(mirror.contents))
        try await withMirror(mirror) { mirror in
            try await eventually("20") { positions.values.last == 20 }
            #expect(positions.values == [10, 20])
            #expect(seen.values.count == 1)
        }
    }

    @Test(
        "A single change that the engine leaves out of the watch: a comparison finds it, and lists; the session goes on"
    )
    func leftOut() async throws {
        let engine = MemoryEngine()
        engine.commit(["a": "1", "b": "1"])
        var configuration = configuration
        configuration.comparisonInterval = .milliseconds(50)
        let metrics = TestMetrics()
        let mirror = EngineMirror<MemoryEngine, String>(
            following: engine,
            configuration: configuration,
            coding: .text,
            factory: metrics
        )
        try await withMirror(mirror) { mirror in
            let (seen, states) = (Recording(mirror.contents), Recording(mirror.state))
            engine.commit(["a": "2"])
            engine.commit(["b": "2"], isLeftOut: true)
            engine.commit(["a": "3"])
            try await eventually("the change is found") { mirror.contents.value["b"] == "2" }
            #expect(isEqual(mirror, engine))
            engine.commit(["a": "4"])
            try await eventually("the watch goes on") { seen.values.last?["a"] == "4" }
            #expect(seen.values.filter(\.isFromList).map(\.revision) == [4])
            #expect(seen.values.last?.isFromList == false)
            #expect(states.values.allSatisfy { $0.isReady })
            #expect(metrics[engine: "memory", "divergences_total"] == 1)
        }
    }

    @Test("The article's engine: a file that is replaced is one change; one that is not there leaves the last contents")
    func file() async throws {
        struct Flag: Codable, Sendable, Equatable { var isEnabled: Bool }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("flags-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        func replace(_ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        try replace("1\na {\"isEnabled\":true}\nb {\"isEnabled\":true}\n")
        let mirror = EngineMirror<FileEngine, Flag>(following: FileEngine(path: path), coding: .json)
        try await withMirror(mirror) { mirror in
            #expect(
                mirror.contents.value.entries.mapValues(\.value) == [
                    "a": Flag(isEnabled: true), "b": Flag(isEnabled: true),
                ]
            )
            let seen = Recording(mirror.contents)
            try replace("3\na {\"isEnabled\":false}\nc {\"isEnabled\":true}\n")
            try await eventually("the new file") { seen.values.last?.revision == 3 }
            #expect(seen.values.count == 1)
            #expect(
                mirror.contents.value.entries.mapValues(\.value) == [
                    "a": Flag(isEnabled: false), "c": Flag(isEnabled: true),
                ]
            )
            try FileManager.default.removeItem(atPath: path)
            try await eventually("stale") { mirror.state.value.name == "stale" }
            #expect(mirror.contents.value["c"] == Flag(isEnabled: true))
            // Older than what the mirror has: the data were lost.
            try replace("2\na {\"isEnabled\":true}\n")
            try await mirror.waitUntilReady(within: .seconds(5))
            #expect(mirror.contents.value.entries.mapValues(\.value) == ["a": Flag(isEnabled: true)])
        }
    }

    @Test("An engine whose configuration cannot be used: run() throws")
    func configuration() async throws {
        struct Nowhere: MirrorEngine {
            static let name = "nowhere"
            func servers() -> [String] { [] }
            func withSession(
                at server: String,
                _ body: @escaping @Sendable (MemoryEngine.Session) async throws -> Void
            ) async throws {}
        }
        let mirror = EngineMirror<Nowhere, String>(following: Nowhere(), coding: .text)
        let error = await #expect(throws: MirrorError.self) { try await mirror.run() }
        #expect(error?.code == .invalidConfiguration)
        #expect(mirror.state.value.name == "failed")
    }

    @Test("An engine that reports revisions after which none can come: an error, and no trap", arguments: 0..<4)
    func impossibleRevisions(kind: Int) async throws {
        let mirror = EngineMirror(
            following: NonsenseEngine(kind: kind),
            configuration: configuration,
            coding: MirrorCoding<String>.text
        )
        try await withMirror(mirror, ready: false) { mirror in
            for _ in 0..<3 {
                try await eventually("an error", within: .seconds(5)) {
                    mirror.state.value.error?.code == .protocolViolation
                }
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(mirror.position.value == (kind < 2 ? 0 : 5))
        }
    }
}

/// An engine whose lists, or whose watches, are of revisions that cannot be.
private struct NonsenseEngine: MirrorEngine {
    static let name = "nonsense"
    let kind: Int

    func servers() -> [String] { ["here"] }

    func withSession(at server: String, _ body: @escaping @Sendable (Session) async throws -> Void) async throws {
        try await body(Session(kind: kind))
    }

    struct Session: MirrorSession {
        let kind: Int

        func list(at revision: Int64?, limit: Int, page: ([MirrorItem]) throws -> Void) async throws -> MirrorMoment {
            MirrorMoment(revision: kind == 0 ? .max : kind == 1 ? -1 : 5)
        }

        func watch(
            from revision: Int64,
            receive: @escaping @Sendable (MirrorMessage) async throws -> Void
        ) async throws {
            try await receive(.started)
            try await receive(kind == 2 ? .complete(upTo: .max) : .change(revision: .max, []))
            throw MirrorError(.unreachable, "the watch has ended")
        }

        func probe() -> MirrorMoment { MirrorMoment(revision: 5) }
    }
}
#endif
