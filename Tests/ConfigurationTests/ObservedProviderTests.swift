// SPDX-License-Identifier: Apache-2.0

#if Configuration
import ConcurrentObserve
import ConcurrentObserveConfiguration
import ConcurrentObserveTesting
import Configuration
import ConfigurationTesting
import Testing

@Suite("Properties as a configuration", .leavesNothingBehind, .timeLimit(.minutes(2)))
struct ObservedProviderTests {
    /// The values that the package's own test expects.
    private static let expected = [
        "string": "Hello", "other.string": "Other Hello", "int": "42", "other.int": "24",
        "double": "3.14", "other.double": "2.72", "bool": "true", "other.bool": "NO",
        "bytes": "bWFnaWM=", "other.bytes": "bWFnaWMy",
        "stringy.array": "Hello, World", "other.stringy.array": "Hello,Swift",
        "inty.array": "42,24", "other.inty.array": " 16 , 32 ",
        "doubly.array": "3.14,2.72", "other.doubly.array": "0.9,1.8",
        "booly.array": "true,0", "other.booly.array": "false,yes,1",
        "byteChunky.array": "bWFnaWM=,bWFnaWMy", "other.byteChunky.array": "bWFnaWM=,bWFnaWMy,bWFnaWM=",
    ]

    @Test("swift-configuration's compatibility test passes for a property")
    func compatible() async throws {
        try await ProviderCompatTest(provider: ObservedProvider(Observed(Self.expected))).runTest()
    }

    @Test("swift-configuration's compatibility test passes for contents that are searched")
    func compatibleContents() async throws {
        let contents = Observed(Self.expected.map { (key: $0.key, text: $0.value) })
        let provider = ObservedProvider(contents, name: "list") { contents, key in
            contents.first { $0.key == key }?.text
        }
        #expect(provider.providerName == "ObservedProvider[list]")
        try await ProviderCompatTest(provider: provider).runTest()
    }

    @Test(
        "A text of another type is an error that names the key and not the text",
        arguments: [
            ConfigType.int, .double, .bool, .bytes, .intArray, .doubleArray, .boolArray, .byteChunkArray,
        ]
    )
    func mismatch(type: ConfigType) async throws {
        let texts = Observed(["a.b": "1,secret"])
        let provider = ObservedProvider(texts)
        let mismatch = try #require(throws: ObservedProvider.Mismatch.self) {
            try provider.value(forKey: ["a", "b"], type: type)
        }
        #expect(mismatch.key == "a.b")
        #expect(mismatch.type == type)
        #expect(!mismatch.description.contains("secret"))
        #expect(throws: mismatch) { try provider.snapshot().value(forKey: ["a", "b"], type: type) }
        // A watch goes on behind it.
        try await provider.watchValue(forKey: ["a", "b"], type: type) { updates in
            var iterator = updates.makeAsyncIterator()
            let first = try await iterator.next()
            #expect(throws: mismatch) { try first?.get() }
            texts.value = [:]
            let update1 = try await iterator.next()
            #expect(try update1?.get().value == nil)
        }
    }

    @Test("A watch receives the present value, then what differs, and nothing for other keys")
    func watch() async throws {
        let texts = Observed(["workers": "4", "other": "1"])
        let received = Observed<[Int]>([])
        let config = ConfigReader(provider: ObservedProvider(texts))
        let watch = Task {
            try await config.watchInt(forKey: "workers", default: 1) { updates in
                for await update in updates { received.modify { $0.append(update) } }
            }
        }
        _ = try await received.first { $0 == [4] }
        for other in 2...9 {
            texts.modify { $0["other"] = "\(other)" }
            try await whenQuiet()
        }
        texts.modify { $0["workers"] = "5" }
        _ = try await received.first { $0 == [4, 5] }
        texts.modify { $0["workers"] = nil }
        _ = try await received.first { $0 == [4, 5, 1] }
        watch.cancel()
        try await watch.value
    }

    @Test("A slow reader of a watch receives no value that equals its last one")
    func slowReader() async throws {
        let texts = Observed(["workers": "4"])
        let config = ConfigReader(provider: ObservedProvider(texts))
        try await config.watchInt(forKey: "workers", default: 1) { updates in
            var iterator = updates.makeAsyncIterator()
            var received = [try await iterator.next()]
            for workers in ["5", "4", "6"] { texts.value = ["workers": workers] }
            received.append(try await iterator.next())
            for workers in ["7", "6"] { texts.value = ["workers": workers] }
            let changes = Task.detached {
                try await Task.sleep(for: .milliseconds(20))
                texts.value = ["workers": "8"]
            }
            received.append(try await iterator.next())
            try await changes.value
            #expect(received == [4, 6, 8])
        }
    }

    @Test("A snapshot's keys belong together, while four threads change them")
    func snapshots() async throws {
        let texts = Observed(["a": "0", "b": "0"])
        let config = ConfigReader(provider: ObservedProvider(texts))
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1_000 {
                        texts.modify { texts in
                            let next = String(Int(texts["a"]!)! + 1)
                            texts = ["a": next, "b": next]
                        }
                    }
                }
            }
            group.addTask {
                var mixtures = 0
                for _ in 0..<2_000 {
                    let snapshot = config.snapshot()
                    if snapshot.int(forKey: "a", default: -1) != snapshot.int(forKey: "b", default: -2) {
                        mixtures += 1
                    }
                }
                #expect(mixtures == 0)
            }
        }
        #expect(config.int(forKey: "a") == 4_000)
    }

    @Test("A watch of snapshots ends when its task is cancelled")
    func ends() async throws {
        let (texts, received) = (Observed(["a": "1"]), Observed(0))
        let provider = ObservedProvider(texts)
        let watch = Task {
            try await provider.watchSnapshot { updates in
                for try await snapshot in updates {
                    received.value = try snapshot.value(forKey: ["a"], type: .int).value?.content == .int(2) ? 2 : 1
                }
            }
        }
        _ = try await received.first { $0 == 1 }
        texts.value = ["a": "2"]
        _ = try await received.first { $0 == 2 }
        watch.cancel()
        try await watch.value
        #expect(texts.observationCount == 0)
    }
}

@Suite("Keys of a configuration as properties", .leavesNothingBehind, .timeLimit(.minutes(2)))
struct ConfigFollowerTests {
    @Test("Each type: the value of the key, and without it the value that the property had")
    func types() async throws {
        let texts = Observed<[String: String]>([:])
        let config = ConfigReader(provider: ObservedProvider(texts))
        let (int, double, bool) = (Observed(1), Observed(0.5), Observed(false))
        let (string, strings) = (Observed("none"), Observed<[String]>([]))
        let followers = [
            ConfigFollower(int, key: "int", in: config), ConfigFollower(double, key: "double", in: config),
            ConfigFollower(bool, key: "bool", in: config), ConfigFollower(string, key: "string", in: config),
            ConfigFollower(strings, key: "strings", in: config),
        ]
        try await withThrowingTaskGroup { group in
            for follower in followers { group.addTask { try await follower.follow() } }
            texts.value = ["int": "2", "double": "1.5", "bool": "yes", "string": "text", "strings": "a,b"]
            _ = try await int.first { $0 == 2 }
            _ = try await double.first { $0 == 1.5 }
            _ = try await bool.first { $0 }
            _ = try await string.first { $0 == "text" }
            _ = try await strings.first { $0 == ["a", "b"] }
            texts.value = ["int": "no number"]
            _ = try await int.first { $0 == 1 }
            _ = try await double.first { $0 == 0.5 }
            _ = try await bool.first { !$0 }
            _ = try await string.first { $0 == "none" }
            _ = try await strings.first { $0 == [] }
            group.cancelAll()
        }
        // The reader iterates in a task of its own, and cancels it without waiting for its end.
        while texts.observationCount > 0 { await Task.yield() }
    }

    @Test("An equal value is no change")
    func equal() async throws {
        let texts = Observed(["int": "7"])
        let (int, other) = (Observed(7), Observed("absent"))
        let config = ConfigReader(provider: ObservedProvider(texts))
        let running = Task { try await ConfigFollower(int, key: "int", in: config).follow() }
        let marker = Task { try await ConfigFollower(other, key: "other", in: config).follow() }
        for number in 0..<100 { texts.value = ["int": number.isMultiple(of: 2) ? "7" : "07", "other": "\(number)"] }
        _ = try await other.first { $0 == "99" }
        running.cancel()
        marker.cancel()
        try await running.value
        try await marker.value
        #expect(int.version == 0)
    }
}
#endif
