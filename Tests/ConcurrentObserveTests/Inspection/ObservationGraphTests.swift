// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveInspection
import ConcurrentObserveTesting
import Dispatch
import Foundation
import Testing

extension Promises {
    @Suite("The graph of observations", .timeLimit(.minutes(2)))
    struct ObservationGraphTests {}
}

extension Promises.ObservationGraphTests {
    fileprivate final class Engine: ConcurrentObservable {
        let rpm = Observed(0, label: "rpm")
    }

    fileprivate final class Car: ConcurrentObservable {
        let engine = Observed(Engine(), label: "engine")
        let speed = Observed(0, label: "speed")
    }

    private func text(_ sources: any ObservationSource...) -> String {
        switch sources.count {
        case 1: ConcurrentObserveDiagnostics.graph(of: sources[0]).description
        default: ConcurrentObserveDiagnostics.graph(of: sources[0], sources[1]).description
        }
    }

    @Test("Callbacks, mailboxes with their counts, sequences and registries")
    func observers() async throws {
        let (speed, horn) = (Observed(0, label: "speed"), ObserverRegistry<Int>(label: "horn"))
        #expect(text(speed) == "nothing is observed")
        let gate = DispatchQueue(label: "gate")
        gate.suspend()
        let tokens = [
            speed.observe { (_: Change<Int>) in }, speed.observe { (_: Change<Int>) in },
            speed.observe(delivery: .queue(gate)) { _ in },
            speed.observe(delivery: .queue(gate, buffering: .latest)) { _ in },
            horn.observe { _ in },
            horn.observe(delivery: .serial()) { _ in },
        ]
        tokens[0].label = "gauge"
        tokens[3].label = "log \"1\""
        let iterator = speed.values().makeAsyncIterator()
        for number in 1...3 { speed.value = number }
        #expect(
            text(speed, horn) == """
                'speed', property
                  → callback 'gauge'
                  → callback
                  → mailbox, on queue 'gate', 3 pending
                  → mailbox 'log "1"', on queue 'gate', 1 pending, 2 dropped
                  → mailbox, in a sequence, 3 pending
                'horn', registry
                  → callback
                  → mailbox, one at a time, 0 pending
                """
        )
        #expect(
            ConcurrentObserveDiagnostics.graph(of: horn, speed).graphviz == """
                digraph observations {
                  rankdir=LR; node [shape=box];
                  s0 [label="'horn'\\nregistry" style=bold];
                  o0_0 [label="callback"];
                  s0 -> o0_0;
                  o0_1 [label="mailbox, one at a time, 0 pending"];
                  s0 -> o0_1;
                  s1 [label="'speed'\\nproperty" style=bold];
                  o1_0 [label="callback 'gauge'"];
                  s1 -> o1_0;
                  o1_1 [label="callback"];
                  s1 -> o1_1;
                  o1_2 [label="mailbox, on queue 'gate', 3 pending"];
                  s1 -> o1_2;
                  o1_3 [label="mailbox 'log \\"1\\"', on queue 'gate', 1 pending, 2 dropped"];
                  s1 -> o1_3;
                  o1_4 [label="mailbox, in a sequence, 3 pending"];
                  s1 -> o1_4;
                }
                """
        )
        gate.resume()
        for token in tokens { await token.cancelAndWait() }
        withExtendedLifetime(iterator) {}
        #expect(text(horn) == "nothing is observed")
    }

    @Test("Derived values, groups, bindings and paths lead to their observers")
    func parts() {
        let (car, limit, shown) = (Car(), Observed(9, label: "limit"), Observed(0, label: "shown"))
        let speed = car.speed
        let line = #line + 1
        let isFast = Derived { get in get(speed) > get(limit) }
        let place = "ConcurrentObserveTests/ObservationGraphTests.swift:\(line)"
        let tokens = [
            isFast.observe { (_: Change<Bool>) in },
            Group(speed, limit).observe { _ in },
            speed.bind(to: shown),
            limit.bindBidirectionally(with: shown),
            car.property(\.engine.rpm).observe { (_: Change<Int>) in },
            car.property(\.engine.rpm).observe(delivery: .serial()) { (_: Change<Int>) in },
        ]
        #expect(
            text(speed, limit) == """
                'speed', property
                  → group 3
                  → binding to 'shown'
                  → derived value at \(place)
                'limit', property
                  → group 3
                  → binding to 'shown'
                  → derived value at \(place)
                group 3
                  → callback
                'shown', property
                  → binding to 'limit'
                derived value at \(place)
                  → callback
                """
        )
        #expect(
            text(car.engine, car.engine.value.rpm) == """
                'engine', property
                  → path 3
                  → path 4
                'rpm', property
                  → end of a path, 2 times
                path 3
                  → callback
                path 4
                  → mailbox, one at a time, 0 pending
                """
        )
        #expect(
            text(isFast) == """
                derived value at \(place)
                  → callback
                """
        )
        withExtendedLifetime(tokens) {}
    }

    @Test("A binding's destination is named though nothing observes it; a source without observers is left out")
    func destination() {
        let (source, shown) = (Observed(1, label: "source"), Observed(2, label: "shown"))
        let token = source.bind(to: shown)
        #expect(text(source) == "'source', property\n  → binding to 'shown'\n'shown', property")
        #expect(text(shown, source) == "'shown', property\n'source', property\n  → binding to 'shown'")
        token.cancel()
        #expect(text(source, shown) == "nothing is observed")
    }

    @Test("A derived value of an incomplete group, and of a derived value: each is found")
    func chains() {
        let source = Observed(1, label: "source")
        let line = #line + 1
        let first = Derived { get in get(source) + 1 }
        let second = Derived { get in get(Group(first, source)).0 + 1 }
        let token = second.observe { (_: Change<Int>) in }
        func place(_ number: Int) -> String {
            "derived value at ConcurrentObserveTests/ObservationGraphTests.swift:\(number)"
        }
        let text = text(source)
        #expect(text.contains("  → \(place(line))\n"))
        #expect(text.contains("\n\(place(line + 1))\n  → callback"))
        withExtendedLifetime(token) {}
    }

    @Test("The whole graph has the labelled sources, and with a recording every other, with places")
    func whole() {
        let (named, unnamed) = (Observed(0, label: "a named one"), ObserverRegistry<Int>())
        ConcurrentObserveDiagnostics.startRecording()
        defer { ConcurrentObserveDiagnostics.stopRecording() }
        let line = #line + 1
        let token = named.observe { (_: Change<Int>) in }
        let others = (0..<3).map { _ in unnamed.observe { _ in } }
        let lines = ConcurrentObserveDiagnostics.graph().description.split(separator: "\n").map(String.init)
        let first = lines.firstIndex(of: "'a named one', property")
        #expect(first.map { lines[$0 + 1] } == "  → callback (ObservationGraphTests.swift:\(line))")
        let second = lines.firstIndex(of: "  → callback (ObservationGraphTests.swift:\(line + 1)), 3 times")
        #expect(second.map { lines[$0 - 1].wholeMatch(of: /registry \d+ of Int/) != nil } == true)
        withExtendedLifetime((token, others)) {}
    }

    @Test("Eight threads observe, change, label and end: every graph is whole")
    func race() throws {
        ConcurrentObserveDiagnostics.startRecording()
        defer { ConcurrentObserveDiagnostics.stopRecording() }
        let (car, shown) = (Car(), Observed(0, label: "shown"))
        let isFast = Derived { get in get(car.speed) > get(shown) }
        let torn = Counter()
        let kinds = ["'", "property ", "registry ", "path ", "group ", "derived value at ", "  → "]
        try onThreads(8) { index in
            for round in 0..<300 {
                switch index {
                case 0, 1:
                    let graph = ConcurrentObserveDiagnostics.graph(of: car.speed, car.engine, shown, isFast)
                    let isTorn = graph.description.split(separator: "\n").contains { line in
                        line != "nothing is observed" && !kinds.contains { line.hasPrefix($0) }
                    }
                    if isTorn || !graph.graphviz.hasSuffix("\n}") { torn.increment() }
                    if round % 50 == 0 { _ = ConcurrentObserveDiagnostics.observationsByOrigin() }
                case 2: car.engine.value = Engine()
                case 3: car.speed.value = round
                case 4:
                    let token = isFast.observe { (_: Change<Bool>) in }
                    token.label = "fast"
                    car.speed.value = -round
                case 5: _ = Group(car.speed, shown).observe(delivery: .serial()) { _ in }
                case 6: _ = car.property(\.engine.rpm).observe { (_: Change<Int>) in }
                default: _ = car.speed.bind(to: shown)
                }
            }
        }
        #expect(torn.value == 0)
        #expect(text(car.speed, car.engine) == "nothing is observed")
    }

    @Test("The article shows what the recipe prints, which is checked")
    func article() throws {
        let root = #filePath.components(separatedBy: "/Tests/").dropLast().joined(separator: "/Tests/")
        let printed = try String(contentsOfFile: root + "/Examples/Recipes/expected/AdminPage.txt", encoding: .utf8)
        let article = try String(
            contentsOfFile: root + "/Sources/ConcurrentObserve/ConcurrentObserve.docc/EmbeddingInAService.md",
            encoding: .utf8
        )
        let section = article.components(separatedBy: "\n## ").first { $0.hasPrefix("Who observes what") }
        let shown = section?.components(separatedBy: "```text\n").dropFirst().first?.components(separatedBy: "```")
            .first
        #expect(shown.map { $0.count > 100 && printed.contains($0) } == true)
    }

    @Test(
        "Graphviz accepts the graph",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/dot"))
    )
    func dot() throws {
        let (source, other) = (Observed(1, label: "a \"b\" \\ c\nd → <e>"), Observed(2))
        let tokens = [
            Group(source, other).observe { _ in }, source.map { $0 + 1 }.observe { (_: Change<Int>) in },
            source.bind(to: other),
        ]
        let process = Foundation.Process()
        let input = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/dot")
        process.arguments = ["-Tplain"]
        process.standardInput = input
        process.standardOutput = Pipe()
        try process.run()
        let text = ConcurrentObserveDiagnostics.graph(of: source, other).graphviz
        input.fileHandleForWriting.write(Data(text.utf8))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        withExtendedLifetime(tokens) {}
    }
}
