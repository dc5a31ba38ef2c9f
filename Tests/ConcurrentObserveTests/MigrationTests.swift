// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import FoundationEssentials
import Testing

extension Promises {
    @Suite("The article about migrating")
    struct MigrationTests {}
}

// MARK: - The article

extension Promises.MigrationTests {
    @Test("Each right-hand side of its tables stands in the code below, which compiles and runs")
    func rightHandSides() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let root = #filePath.components(separatedBy: "/Tests/").dropLast().joined(separator: "/Tests/")
        let article = try String(
            contentsOfFile: root + "/Sources/ConcurrentObserve/ConcurrentObserve.docc/Migrating.md",
            encoding: .utf8
        )
        // Code alone, and nothing above it.
        let code = source.components(separatedBy: "// MARK: - Right-hand sides").last!
            .split(separator: "\n").filter { !$0.trimmed.hasPrefix("//") }.joined(separator: "\n").withoutSpace
        let snippets = article.split(separator: "\n").flatMap(rightHandSide)
        #expect(snippets.count > 40)
        for snippet in snippets {
            #expect(code.contains(snippet.withoutSpace), "\(snippet) is not in the test")
        }
    }

    /// The pieces of code in the last column of a table's row.
    private func rightHandSide(_ line: Substring) -> [String] {
        guard line.hasPrefix("|"), !line.hasPrefix("| ---"), !line.hasPrefix("| There") else { return [] }
        let columns = line.trimmed.dropFirst().dropLast().components(separatedBy: " | ")
        // Every other piece is between two backticks.
        let pieces = columns.last!.components(separatedBy: "`")
        #expect(columns.count == 2 && pieces.count >= 3, "\(line) has no code on its right")
        return stride(from: 1, to: pieces.count, by: 2).map { pieces[$0] }
    }
}

extension StringProtocol {
    fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
    fileprivate var withoutSpace: String { String(filter { !$0.isWhitespace }) }
}

// MARK: - The model

extension Promises.MigrationTests {
    fileprivate final class Engine: ConcurrentObservable {
        let rpm = Observed(0)
    }

    fileprivate final class Person: ConcurrentObservable, WeaklyObservable {
        let lifetime = ReferentLifetime()
        let name = Observed("Ada")
    }

    fileprivate final class Route: ConcurrentObservable {
        let driver = WeakObserved<Person>()
    }

    fileprivate final class Car: ObserverRemoving {
        let name = Observed("Beetle")
        let mileage = Observed(0)
        let engine = Observed(Engine())
        let spare = Observed<Engine?>(nil)

        func removeAllObservers() { ObservationToken.cancelAll(of: name, mileage, engine, spare) }
    }

    fileprivate final class Owner: Sendable {
        let title = Observed("")

        func show<each Item>(_ items: repeat each Item) { shown.increment() }
    }
}

private let shown = Counter()

private func show<each Item>(_ items: repeat each Item) { shown.increment() }

/// How often something is shown while `body` runs.
private func showings(_ body: () -> Void) -> Int {
    // What earlier examples have left to be told is told now, not in between.
    ConcurrentObserveDiagnostics.drain()
    let before = shown.value
    body()
    return shown.value - before
}

// MARK: - Right-hand sides

// swift-format-ignore
extension Promises.MigrationTests {
    @Test("Key-value observing")
    func keyValueObserving() {
        let (car, owner) = (Car(), Owner())
        let tokens = [
            car.observe(\.name) { change in show(change.new) },
            car.name.observe(options: [.initial, .new]) { change in show(change.new) },
            car.name.observe(options: [.prior, .old, .new]) { change in show(change.isPrior) },
            car.observe(\.engine.rpm) { change in show(change.new) },
            car.observe(\.spare.rpm, owner: owner, options: .new) { owner, change in owner.show(change.new) },
        ]
        #expect(showings { car.name.value = "Golf" } == 4)
        #expect(showings { car.engine.value.rpm.value = 1 } == 1)
        #expect(showings { car.spare.value = Engine() } == 1)
        car.mileage.modify { $0 += 1 }
        car.name.removeAllObservers(ownedBy: owner)
        for token in tokens { token.cancel() }
        #expect(showings { car.name.value = "Polo" } == 0)
    }

    @Test("Combine")
    func combine() {
        let (car, owner) = (Car(), Owner())
        var tokens = Set<ObservationToken>()
        let token = car.name.observe(owner: owner, options: [.initial, .new]) { owner, change in owner.title.value = change.new ?? "" }
        let list = [
            car.name.observeValues(includingInitial: true) { name in show(name) },
            car.name.observeValues { name in show(name) },
            car.name.observe(removingDuplicates: true, options: .new) { change in show(change.new) },
            car.observe(all: \.name, \.mileage) { changed, name, mileage in show(changed, name, mileage) },
        ]
        car.name.observeValues { name in show(name) }.store(in: &tokens)
        #expect(owner.title.value == "Beetle")
        #expect(showings { car.name.value = "Golf" } == 5)
        #expect(owner.title.value == "Golf")
        token.onEnd { reason in show(reason) }
        token.cancel()
        withExtendedLifetime((list, tokens)) {}
    }

    @Test("Combine's subjects")
    func subjects() {
        let registry = ObserverRegistry<Int>(label: "ticks")
        let token = registry.observe { tick in show(tick) }
        #expect(showings { registry.notify(1) } == 1)
        let subject = Observed(0)
        subject.value = 1
        withExtendedLifetime(token) {}
    }

    @Test("Observation")
    func observation() async {
        let car = Car()
        let tokens = [
            car.name.observeValues(includingInitial: true) { name in show(name) },
            car.observe(all: \.name, \.mileage) { changed, name, mileage in show(changed, name, mileage) },
        ]
        #expect(showings { car.name.value = "Golf" } == 2)
        let before = shown.value
        async let _: Void = { for await name in car.name.values(includingInitial: true, buffering: .latest) { show(name) } }()
        async let _: Void = { for await rpm in car.values(\.engine.rpm, includingInitial: true, buffering: .latest) { show(rpm) } }()
        while shown.value < before + 2 { await Task.yield() }
        withExtendedLifetime(tokens) {}
    }

    @Test("KeyValueObserver")
    func keyValueObserver() {
        let car = Car()
        let reasons = Log<Int>()
        var token: ObservationToken? = car.observe(\.engine.rpm, options: .new) { change in show(change.reason, change.new) }
        let other = car.observe(\.engine.rpm) { change in
            if change.reason == .valueChanged { reasons.append(1) }
            if case .pathChanged(let depth) = change.reason { show(depth) }
            if change.reason == .sourceDeleted { reasons.append(2) }
        }
        #expect(showings { car.engine.value = Engine() } == 2)
        car.engine.value.rpm.value = 1
        #expect(reasons.entries == [1])
        #expect(token?.isActive == true)
        token = nil
        #expect(showings { car.engine.value.rpm.value = 2 } == 0)
        withExtendedLifetime(other) {}
    }

    @Test("PrettyGoodKVO")
    func prettyGoodKVO() {
        let (car, owner) = (Car(), Owner())
        let tokens = [
            car.observe(\.name, owner: owner, options: [.initial, .new, .old]) { owner, change in owner.show(change.new) },
            car.name.observe(removingDuplicates: true) { change in show(change.old, change.new) },
        ]
        #expect(showings { car.name.value = "Golf" } == 2)
        car.name.removeAllObservers(ownedBy: owner)
        #expect(showings { car.name.value = "Golf" } == 0)
        ObservationToken.cancelAll(ownedBy: owner)
        car.removeAllObservers()
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    @Test("The closure KVO")
    func closureKVO() {
        let car = Car()
        let bag = ObservationBag()
        let first = car.name.observe(options: .new) { change, observation in observation.cancel() }
        let token = car.name.observe { change in show(change.new) }
        car.name.observe { change in show(change.new) }.store(in: bag)
        #expect(showings { car.name.value = "Golf" } == 2)
        #expect(!first.isActive)
        bag.cancelAll()
        token.cancel()
    }

    @Test("HTBKVObservation")
    func htbKVObservation() async {
        let car = Car()
        let token = car.name.observe(options: []) { change in show(change.reason) }
        let other = car.observe(all: [\.mileage, \.engine.rpm]) { changed, values in show(changed, values) }
        #expect(showings { car.name.value = "Golf" } == 1)
        #expect(showings { car.mileage.value = 1 } == 1)
        token.onEnd { reason in show(reason) }
        #expect(token.isActive)
        await token.cancelAndWait()
        #expect(!token.isActive)
        withExtendedLifetime(other) {}
    }

    @Test("Property")
    func property() {
        let owner = Owner()
        let name = Observed("Beetle")
        let token = name.observe(owner: owner) { owner, change in owner.show(change.old, change.new) }
        #expect(name.observerCount == 1)
        #expect(showings { name.value = "Golf" } == 1)
        name.removeAllObservers(ownedBy: owner)
        #expect(showings { name.value = "Polo" } == 0)
        withExtendedLifetime(token) {}
    }

    @Test("Weak properties")
    func weakProperties() {
        let route = Route()
        let tokens = [
            route.driver.observe { change in show(change.reason) },
            route.observe(\.driver.name) { change in show(change.new) },
        ]
        var person: Person? = Person()
        #expect(showings { route.driver.value = person } == 2)
        #expect(showings { person = nil } == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test("Bindings")
    func bindings() {
        let car = Car()
        let (shown, title) = (Observed(0), Observed(""))
        let tokens = [
            car.mileage.bind(to: title) { miles in "\(miles)" },
            car.mileage.bindBidirectionally(with: shown),
            car.mileage.bind(to: shown),
        ]
        car.mileage.value = 7
        #expect(shown.value == 7 && title.value == "7")
        withExtendedLifetime(tokens) {}
    }
}
