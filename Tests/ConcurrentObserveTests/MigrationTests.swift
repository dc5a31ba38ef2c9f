// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import FoundationEssentials
import Observation
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
        // Only code, and nothing above it.
        let code = source.components(separatedBy: "// MARK: - Right-hand sides").last!
            .split(separator: "\n").filter { !$0.trimmed.hasPrefix("//") }.joined(separator: "\n").withoutSpace
        let snippets = try article.split(separator: "\n").flatMap(rightHandSide)
        #expect(snippets.count > 40)
        for snippet in snippets {
            #expect(code.contains(snippet.withoutSpace), "\(snippet) is not in the test")
        }
    }

    private var article: String {
        get throws {
            let root = #filePath.components(separatedBy: "/Tests/").dropLast().joined(separator: "/Tests/")
            return try String(
                contentsOfFile: root + "/Sources/ConcurrentObserve/ConcurrentObserve.docc/Migrating.md",
                encoding: .utf8
            )
        }
    }

    @Test("Each row of the table for Observation stands below with both sides, which this platform has")
    func observationRows() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let code = source.components(separatedBy: "// MARK: - Right-hand sides").last!.withoutSpace
        let table = try article.components(separatedBy: "## Observation\n").last!.components(separatedBy: "\n## ")
            .first!
        let rows = table.split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.count == 4)
        for row in rows {
            // The code on the left, up to an ellipsis, which stands for any code.
            let there = row.components(separatedBy: "`")[1].components(separatedBy: "…")[0]
            #expect(code.contains(there.withoutSpace), "\(there) is not in the test")
        }
    }

    /// Returns the pieces of code in the last column of a table's row.
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

    fileprivate final class Car: ConcurrentObservable, ObservationSource {
        let name = Observed("Beetle")
        let mileage = Observed(0)
        let engine = Observed(Engine())
        let spare = Observed<Engine?>(nil)

        func cancelAllObservations() { ObservationToken.cancelAll(of: name, mileage, engine, spare) }
    }

    fileprivate final class Owner: Sendable {
        let title = Observed("")

        func show<each Item>(_ items: repeat each Item) { lines.append(text(repeat each items)) }
    }

    /// The model on the other side of the table about Observation.
    @Observable
    fileprivate final class TrackedEngine {
        var rpm = 0
    }

    @Observable
    fileprivate final class TrackedCar {
        var name = "Beetle"
        var mileage = 0
        var engine = TrackedEngine()
    }
}

private let lines = Log<String>()

private func show<each Item>(_ items: repeat each Item) { lines.append(text(repeat each items)) }

private func text<each Item>(_ items: repeat each Item) -> String {
    var parts: [String] = []
    for item in repeat each items { parts.append(plain(item)) }
    return parts.joined(separator: " ")
}

/// Returns an item without its optionals.
private func plain(_ item: Any) -> String {
    let mirror = Mirror(reflecting: item)
    guard mirror.displayStyle == .optional else { return "\(item)" }
    return mirror.children.first.map { plain($0.value) } ?? "nil"
}

/// Returns the lines that are shown while `body` runs.
private func shows(_ body: () -> Void) -> [String] {
    // Changes that earlier examples have left undelivered are delivered now, not in between.
    ConcurrentObserveDiagnostics.drain()
    let before = lines.count
    body()
    return Array(lines.entries[before...])
}

/// Compares a row: the lines that the documentation of the other framework describes, if this
/// platform does not have it, and the lines that ours shows.
private func compare(_ there: [String], _ here: () -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(shows(here) == there, sourceLocation: sourceLocation)
}

// MARK: - Right-hand sides

// swift-format-ignore
extension Promises.MigrationTests {
    @Test("Key-value observing")
    func keyValueObserving() {
        let (car, owner) = (Car(), Owner())
        var token: ObservationToken
        // Options [] there: the closure reads the new value, which it receives here.
        token = car.observe(\.name) { change in show(change.new) }
        compare(["Golf"]) { car.name.value = "Golf" }
        token.cancel()
        compare([]) { car.name.value = "Beetle" }
        compare(["Beetle", "Golf"]) {
            token = car.name.observe(options: .initial) { change in show(change.new) }
            car.name.value = "Golf"
        }
        token = car.name.observe(options: .prior) { change in show(change.reason == .prior) }
        compare(["true", "false"]) { car.name.value = "Polo" }
        token = car.observe(\.engine.rpm) { change in show(change.new) }
        compare(["1", "0"]) {
            car.engine.value.rpm.value = 1
            car.engine.value = Engine()
        }
        token = car.property(\.spare.rpm).observe(owner: owner) { owner, change in owner.show(change.new) }
        compare(["0", "nil"]) {
            car.spare.value = Engine()
            car.spare.value = nil
        }
        token = car.name.observe(owner: owner) { owner, change in owner.show(change.new) }
        // Automatic there, too, between the two calls: once.
        compare(["Golf"]) { car.name.value = "Golf" }
        car.name.cancelAllObservations(ownedBy: owner)
        compare([]) { car.name.value = "Polo" }
        token = car.mileage.observe { change in show(change.new) }
        compare(["1"]) { car.mileage.modify { $0 += 1 } }
        token.cancel()
    }

    @Test("Combine: against OpenCombine in Benchmarks/Tests/MigrationTests; here by its documentation")
    func combine() {
        let (car, owner) = (Car(), Owner())
        var tokens = Set<ObservationToken>()
        func golf() { car.name.value = "Golf"; car.name.value = "Golf"; car.name.value = "Beetle" }
        compare(["Beetle", "Golf", "Golf", "Beetle"]) {
            tokens = [car.name.observeValues(options: .initial) { name in show(name) }]
            golf()
        }
        compare(["Golf", "Golf", "Beetle"]) {
            tokens = [car.name.observeValues { name in show(name) }]
            golf()
        }
        compare(["Beetle", "Golf", "Beetle"]) {
            tokens = [car.name.removingDuplicates().observe(options: .initial) { change in show(change.new) }]
            golf()
        }
        compare(["Beetle 0", "Golf 0", "Golf 0", "Beetle 0", "Beetle 5"]) {
            tokens = [Group(car.name, car.mileage).observeValues(options: .initial) { name, mileage in show(name, mileage) }]
            golf()
            car.mileage.value = 5
        }
        tokens = []
        compare(["Golf", "Golf", "Beetle"]) {
            car.name.observeValues { name in show(name) }.store(in: &tokens)
            golf()
        }
        tokens = []
        let token = car.name.observe(owner: owner, options: .initial) { owner, change in owner.title.value = change.new }
        #expect(owner.title.value == "Beetle")
        car.name.value = "Golf"
        #expect(owner.title.value == "Golf")
        compare(["cancelled"]) {
            token.onEnd { reason in show(reason) }
            token.cancel()
            ConcurrentObserveDiagnostics.drain()
        }
    }

    @Test("Combine's subjects")
    func subjects() {
        let registry = ObserverRegistry<Int>(label: "ticks")
        let token = registry.observe { tick in show(tick) }
        compare(["1"]) { registry.notify(1) }
        let subject = Observed(0)
        subject.value = 1
        #expect(subject.value == 1)
        withExtendedLifetime(token) {}
    }

    /// Runs the left side in its usual form: it is set up again after each change.
    private func tracked(_ track: (_ onChange: @escaping @Sendable () -> Void) -> Void, _ changes: [() -> Void]) {
        let isChanged = Counter()
        track { isChanged.increment() }
        for (index, change) in changes.enumerated() {
            change()
            // It was notified once, before the change.
            #expect(isChanged.value == index + 1)
            track { isChanged.increment() }
        }
    }

    @Test("Observation: tracking")
    func observation() {
        let one = shows {
            let car = TrackedCar()
            tracked(
                { onChange in withObservationTracking { show(car.name) } onChange: { onChange() } },
                [{ car.name = "Golf" }, { car.name = "Polo" }]
            )
        }
        #expect(one == ["Beetle", "Golf", "Polo"])
        compare(one) {
            let car = Car()
            let token = car.name.observeValues(options: .initial) { name in show(name) }
            car.name.value = "Golf"
            car.name.value = "Polo"
            withExtendedLifetime(token) {}
        }
        let two = shows {
            let car = TrackedCar()
            tracked(
                { onChange in withObservationTracking { show(car.name, car.mileage) } onChange: { onChange() } },
                [{ car.name = "Golf" }, { car.mileage = 7 }]
            )
        }
        #expect(two == ["Beetle 0", "Golf 0", "Golf 7"])
        compare(two) {
            let car = Car()
            let token = Group(car.name, car.mileage).observeValues(options: .initial) { name, mileage in show(name, mileage) }
            car.name.value = "Golf"
            car.mileage.value = 7
            withExtendedLifetime(token) {}
        }
    }

    @Test("Observation: sequences, which may leave out values in between") @MainActor
    func sequences() async throws {
        let (tracked, observed) = (TrackedCar(), Car())
        let before = lines.count
        let tasks = [
            Task { let car = tracked; for await name in Observations({ car.name }) { show(name) } },
            Task { let car = tracked; for await rpm in Observations({ car.engine.rpm }) { show(rpm) } },
        ]
        try await eventuallyAsync("the first elements there") { @Sendable in lines.count == before + 2 }
        tracked.name = "Golf"
        tracked.engine.rpm = 1
        try await eventuallyAsync("the next elements there") { @Sendable in lines.count == before + 4 }
        let there = lines.entries[before...].sorted()
        for task in tasks { task.cancel() }
        let middle = lines.count
        let others = [
            Task { let car = observed; for await name in car.name.values(options: .initial, buffering: .latest) { show(name) } },
            Task { let car = observed; for await rpm in car.property(\.engine.rpm).values(options: .initial, buffering: .latest) { show(rpm) } },
        ]
        try await eventuallyAsync("the first elements here") { @Sendable in lines.count == middle + 2 }
        observed.name.value = "Golf"
        observed.engine.value.rpm.value = 1
        try await eventuallyAsync("the next elements here") { @Sendable in lines.count == middle + 4 }
        #expect(lines.entries[middle...].sorted() == there)
        for task in others { task.cancel() }
    }

    @Test("KeyValueObserver")
    func keyValueObserver() {
        let car = Car()
        var token: ObservationToken? = car.observe(\.engine.rpm) { change in show(change.reason, change.new) }
        compare(["valueChanged 1", "pathChanged(depth: 0) 0"]) {
            car.engine.value.rpm.value = 1
            car.engine.value = Engine()
        }
        #expect(token?.isActive == true)
        token = nil
        compare([]) { car.engine.value.rpm.value = 2 }
        let reasons: [String] = shows {
            var dying: Car? = Car()
            let other = dying!.observe(\.engine.rpm) { change in
                if change.reason == .valueChanged { show("a value") }
                if case .pathChanged(let depth) = change.reason { show(depth) }
            }
            let token = other
            token.onEnd { end in show(end == .sourceDeleted) }
            dying!.engine.value.rpm.value = 1
            dying!.engine.value = Engine()
            dying = nil
            ConcurrentObserveDiagnostics.drain()
        }
        #expect(reasons == ["a value", "0", "true"])
    }

    @Test("PrettyGoodKVO")
    func prettyGoodKVO() {
        let (car, owner) = (Car(), Owner())
        var tokens: [ObservationToken] = []
        compare(["Beetle", "Golf", "Golf"]) {
            tokens = [car.name.observe(owner: owner, options: .initial) { owner, change in owner.show(change.new) }]
            car.name.value = "Golf"
            car.name.value = "Golf"
        }
        car.name.cancelAllObservations(ownedBy: owner)
        compare([]) { car.name.value = "Beetle" }
        compare(["Beetle Golf"]) {
            tokens.append(car.name.removingDuplicates().observe { change in show(change.old, change.new) })
            car.name.value = "Golf"
            car.name.value = "Golf"
        }
        tokens.append(car.property(\.name).observe(owner: owner) { owner, change in owner.show(change.new) })
        ObservationToken.cancelAll(ownedBy: owner)
        compare(["Golf Polo"]) { car.name.value = "Polo" }
        car.cancelAllObservations()
        compare([]) { car.name.value = "Golf" }
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    @Test("The closure KVO")
    func closureKVO() {
        let car = Car()
        let bag = ObservationBag()
        let first = car.name.observe { change, observation in observation.cancel() }
        let token = car.name.observe { change in show(change.new) }
        compare(["Golf"]) { car.name.value = "Golf" }
        #expect(!first.isActive)
        token.cancel()
        car.name.observe { change in show(change.new) }.store(in: bag)
        compare(["Polo"]) { car.name.value = "Polo" }
        bag.cancelAll()
        compare([]) { car.name.value = "Golf" }
    }

    @Test("HTBKVObservation")
    func htbKVObservation() async {
        let car = Car()
        let token = car.name.observe { change in show(change.reason) }
        let other = PropertyList([car.property(\.mileage), car.property(\.engine.rpm)]).observeValues { values in show(values) }
        compare(["valueChanged"]) { car.name.value = "Golf" }
        compare(["[1, 0]", "[1, 2]"]) {
            car.mileage.value = 1
            car.engine.value.rpm.value = 2
        }
        #expect(token.isActive)
        let before = lines.count
        token.onEnd { reason in show(reason) }
        await token.cancelAndWait()
        #expect(!token.isActive)
        #expect(lines.entries[before...] == ["cancelled"])
        withExtendedLifetime(other) {}
    }

    @Test("Property")
    func property() {
        let owner = Owner()
        let name = Observed("Beetle")
        let token = name.observe(owner: owner) { owner, change in owner.show(change.old, change.new) }
        #expect(name.observationCount == 1)
        compare(["Beetle Golf"]) { name.value = "Golf" }
        name.cancelAllObservations(ownedBy: owner)
        compare([]) { name.value = "Polo" }
        withExtendedLifetime(token) {}
    }

    @Test("Weak properties")
    func weakProperties() {
        let route = Route()
        var person: Person? = Person()
        var token = route.driver.observe { change in show(change.reason) }
        compare(["valueChanged", "valueChanged"]) {
            route.driver.value = person
            person = nil
        }
        token = route.observe(\.driver.name) { change in show(change.new) }
        compare(["Ada", "Grace", "nil"]) {
            person = Person()
            route.driver.value = person
            person!.name.value = "Grace"
            person = nil
        }
        token.cancel()
    }

    @Test("Bindings")
    func bindings() {
        let car = Car()
        let (shown, title) = (Observed(1), Observed(""))
        var token = car.mileage.bind(to: shown)
        #expect(shown.value == 0)
        car.mileage.value = 7
        #expect(shown.value == 7)
        shown.value = 8
        #expect(car.mileage.value == 7)
        token = car.mileage.bind(to: title) { miles in "\(miles)" }
        #expect(title.value == "7")
        token = car.mileage.bindBidirectionally(with: shown)
        #expect(shown.value == 7)
        shown.value = 9
        #expect(car.mileage.value == 9)
        token.cancel()
    }

    @Test("Derived values")
    func derivedValues() {
        let car = Car()
        let isDue = car.mileage.map { $0 > 1_000 }
        let title = Derived(car.name, car.mileage) { "\($0): \($1)" }
        let line = car.name.combine(car.mileage) { "\($0), \($1)" }
        let token = title.observeValues(options: .initial) { title in show(title) }
        let due = isDue.observe { change in show(change.new) }
        compare(["Golf: 0", "Golf: 7", "Golf: 2000", "true"]) {
            car.name.value = "Golf"
            car.mileage.value = 7
            car.mileage.value = 2_000
            car.mileage.value = 2_000
        }
        compare(["Golf, 2000"]) { show(line.value) }
        let rpm = Derived { get in get(car.spare).map { get($0.rpm) } ?? 0 }
        compare(["true"]) { show(Derived { get in get(rpm) < 6_000 }.value) }
        let spare = Engine()
        spare.rpm.value = 7_000
        car.spare.value = spare
        compare(["false"]) { show(Derived { get in get(rpm) < 6_000 }.value) }
        withExtendedLifetime((token, due)) {}
    }

    @Test("Transactions")
    func transactions() {
        let car = Car()
        let token = Group(car.name, car.mileage).observe { change in show(change.new.0, change.new.1) }
        compare(["Golf 7"]) {
            Group(car.name, car.mileage).commit { draft in draft[car.name] = "Golf"; draft[car.mileage] = 7 }
        }
        let (from, to) = (Observed(10), Observed(0))
        Group(from, to).commit { draft in draft[from] -= 10; draft[to] += 10 }
        #expect((from.value, to.value) == (0, 10))
        let (name, mileage) = Group(car.name, car.mileage).snapshot().value
        #expect((name, mileage) == ("Golf", 7))
        token.cancel()
    }
}
