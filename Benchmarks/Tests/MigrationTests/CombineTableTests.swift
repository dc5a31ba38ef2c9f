// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import FoundationEssentials
import OpenCombine
import Synchronization
import Testing

/// The article about migrating has a table for Combine. In each of its rows both sides must show
/// the same. OpenCombine runs the other side.
///
/// The test is here, and not among the library's tests, because this package has OpenCombine. One
/// test runs at a time, because all lines are shown in one place.
@Suite("The article about migrating: Combine", .serialized)
struct CombineTableTests {}

// MARK: - The article

extension CombineTableTests {
    /// The rows that OpenCombine cannot run. A test below expects the output that Combine's
    /// documentation describes.
    private static let missing = ["car.$name.combineLatest(car.$mileage).sink {"]

    @Test("Each side of the table stands in the code below")
    func rows() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let root = #filePath.components(separatedBy: "/Benchmarks/").dropLast().joined(separator: "/Benchmarks/")
        let article = try String(
            contentsOfFile: root + "/Sources/ConcurrentObserve/ConcurrentObserve.docc/Migrating.md",
            encoding: .utf8
        )
        let code = source.components(separatedBy: "// MARK: - Rows").last!.withoutSpace
        let table = article.components(separatedBy: "## Combine\n").last!.components(separatedBy: "\n## ").first!
        var sides = 0
        for line in table.split(separator: "\n") where line.hasPrefix("| `") {
            // Every second piece is between two backticks. An ellipsis represents any code.
            for (index, piece) in line.components(separatedBy: "`").enumerated() where index & 1 == 1 {
                let parts = piece.components(separatedBy: "…").map(\.withoutSpace).filter { $0.count > 3 }
                sides += 1
                for part in parts where !Self.missing.map(\.withoutSpace).contains(part) {
                    #expect(code.contains(part), "\(piece) is not in the test")
                }
            }
        }
        #expect(sides > 20)
    }
}

extension String {
    fileprivate var withoutSpace: String { String(filter { !$0.isWhitespace }) }
}

// MARK: - The models

/// The lines that a side has shown.
private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    func show<each Item>(_ items: repeat each Item) {
        var line: [String] = []
        for item in repeat each items { line.append(Self.text(item)) }
        let text = line.joined(separator: " ")
        lines.withLock { $0.append(text) }
    }

    private static func text(_ item: Any) -> String {
        let mirror = Mirror(reflecting: item)
        guard mirror.displayStyle == .optional else { return "\(item)" }
        return mirror.children.first.map { text($0.value) } ?? "nil"
    }

    /// Returns the lines that `body` shows.
    func during(_ body: () -> Void) -> [String] {
        lines.withLock { $0 = [] }
        body()
        return lines.withLock { $0 }
    }
}

private let lines = Lines()

private func show<each Item>(_ items: repeat each Item) { lines.show(repeat each items) }

/// The car of the other side.
private final class PublishedCar {
    @OpenCombine.Published var name = "Beetle"
    @OpenCombine.Published var mileage = 0

    func change() {
        name = "Golf"
        name = "Golf"
        mileage = 7
        name = "Polo"
    }
}

private final class ObservedCar: ConcurrentObservable {
    let name = Observed("Beetle")
    let mileage = Observed(0)

    func change() {
        name.value = "Golf"
        name.value = "Golf"
        mileage.value = 7
        name.value = "Polo"
    }
}

/// Returns the lines that a side shows when it is set up, and then while its car changes.
private func there<Kept>(_ row: (PublishedCar) -> Kept) -> [String] {
    let car = PublishedCar()
    return lines.during {
        let kept = row(car)
        car.change()
        withExtendedLifetime(kept) {}
    }
}

private func here<Kept>(_ row: (ObservedCar) -> Kept) -> [String] {
    let car = ObservedCar()
    return lines.during {
        let kept = row(car)
        car.change()
        withExtendedLifetime(kept) {}
    }
}

private final class TitleThere {
    var title = "" { didSet { show(title) } }
}

private final class TitleHere: Sendable {
    let title = Observed("")
    let token: ObservationToken

    init() { token = title.observeValues { title in show(title) } }
}

// MARK: - Rows

// swift-format-ignore
extension CombineTableTests {
    @Test("Both sides show the same values, also when the present value is included")
    func values() {
        #expect(
            there { car in car.$name.sink { name in show(name) } }
                == here { car in car.name.observeValues(options: .initial) { name in show(name) } }
        )
        #expect(
            there { car in car.$name.dropFirst().sink { name in show(name) } }
                == here { car in car.name.observeValues { name in show(name) } }
        )
        #expect(
            there { car in car.$name.removeDuplicates().sink { name in show(name) } }
                == here { car in car.name.removingDuplicates().observe(options: .initial) { change in show(change.new) } }
        )
        let (old, new) = (TitleThere(), TitleHere())
        #expect(
            there { car in let owner = old; return car.$name.assign(to: \.title, on: owner) }
                == here { car in let owner = new; return car.name.observe(owner: owner, options: .initial) { owner, change in owner.title.value = change.new } }
        )
    }

    @Test("combineLatest, which OpenCombine does not have: by Combine's documentation, the present values, then those after each change")
    func latest() {
        #expect(
            ["Beetle 0", "Golf 0", "Golf 0", "Golf 7", "Polo 7"]
                == here { car in Group(car.name, car.mileage).observeValues(options: .initial) { name, mileage in show(name, mileage) } }
        )
    }

    @Test("Subjects")
    func subjects() {
        let passing = lines.during {
            let subject = PassthroughSubject<Int, Never>()
            let token = subject.sink { tick in show(tick) }
            subject.send(1)
            token.cancel()
            subject.send(2)
        }
        let notified = lines.during {
            let registry = ObserverRegistry<Int>(label: "ticks")
            let token = registry.observe { tick in show(tick) }
            registry.notify(1)
            token.cancel()
            registry.notify(2)
        }
        #expect(passing == notified && passing == ["1"])
        let current = lines.during {
            let subject = CurrentValueSubject<Int, Never>(0)
            subject.value = 1
            show(subject.value)
        }
        let observed = lines.during {
            let subject = Observed(0)
            subject.value = 1
            show(subject.value)
        }
        #expect(current == observed)
    }

    @Test("The end is delivered once, after all values")
    func end() {
        let completed = lines.during {
            let publisher = PassthroughSubject<Int, Never>()
            let kept = publisher.sink(receiveCompletion: { _ in show("end") }, receiveValue: { _ in })
            publisher.send(completion: .finished)
            withExtendedLifetime(kept) {}
        }
        let ended = lines.during {
            var registry: ObserverRegistry<Int>? = ObserverRegistry()
            let token = registry!.observe { _ in }
            token.onEnd { reason in show(reason) }
            registry = nil
            // A thread of the library delivers the end.
            ConcurrentObserveDiagnostics.drain()
        }
        #expect(completed.count == 1 && ended.count == 1)
    }

    @Test("Sets of what keeps observations going, and cancelling one")
    func keeping() {
        let stored = there { car in
            var cancellables = Set<AnyCancellable>()
            car.$name.dropFirst().sink { name in show(name) }.store(in: &cancellables)
            let cancellable = car.$mileage.dropFirst().sink { _ in show("never") }
            cancellable.cancel()
            return cancellables
        }
        let kept = here { car in
            var tokens = Set<ObservationToken>()
            car.name.observeValues { name in show(name) }.store(in: &tokens)
            let token = car.mileage.observeValues { _ in show("never") }
            token.cancel()
            return tokens
        }
        #expect(stored == kept)
    }
}
