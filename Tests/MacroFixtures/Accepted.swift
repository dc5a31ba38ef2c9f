// SPDX-License-Identifier: Apache-2.0
//
// Ordinary classes that `@ConcurrentObservable` takes as they are. Scripts/check-macro.sh compiles
// them, also with the main actor as the module's default isolation, and expects no word. What uses
// models on any thread, and what they use, says `nonisolated` for that.

import ConcurrentObserveMacros
import Foundation

enum State: Sendable { case idle, running(Int) }

struct Box<Content: Sendable>: Sendable { let content: Content }

nonisolated struct Code: Sendable {
    init?(_ text: String) { if text.isEmpty { return nil } }
}

nonisolated func made() -> [String: Set<Int>] { [:] }

nonisolated let isBig = true

/// Types that the compiler infers.
@ConcurrentObservable
public final class Inferred {
    var state = State.idle
    var running = State.running(1)
    var numbers = [1, 2]
    var sum = 1 + 2
    var page = URL(string: "https://example.org")
    var zeros = Array(repeating: 0, count: 3)
    var distinct = Set([1, 2])
    var names = Dictionary(uniqueKeysWithValues: [(1, "a")])
    var box = Box(content: 1)
    var code = Code("a")
    var calls = made()
    var pair = (1, "a")
    var size = isBig ? 1.5 : 2
    var word = if isBig { "big" } else { "small" }
    var negative = -1
    var date = Date()
    var lambda: @Sendable () -> Int = { 1 }
    public private(set) var level = 1 + 1
    public var title = "a" + "b"
    private var secret = State.idle
    private var mode = Mode.slow

    private enum Mode: Sendable { case slow, fast }

    init() {}

    init(early: Int) {
        numbers = [early]
        secret = .running(1)
    }

    func change() {
        mode = .fast
        observedProperties.numbers.modify { $0.append(3) }
    }

    func observeSecret() -> ObservationToken { observe(\.secret) { change in print(change.new) } }
}

nonisolated func use(_ model: Inferred) -> [ObservationToken] {
    model.page = nil
    model.state = .running(2)
    model.names[2] = "b"
    model.cancelAllObservations()
    return [
        model.observe(\.state) { (change: Change<State>) in print(change) },
        model.observe(\.page) { (change: Change<URL?>) in print(change) },
        model.observe(\.zeros) { (change: Change<[Int]>) in print(change) },
        model.observe(\.distinct) { (change: Change<Set<Int>>) in print(change) },
        Group(model.property(\.size), model.property(\.word)).observe { change in
            let (size, word) = change.new
            print(size + 1, word.count)
        },
        // Read-only outside the class, even if its type is written.
        model.observe(\.level) { (change: Change<Int>) in print(change) },
        model.observedProperties.level.observeValues { level in print(level + 1) },
        model.observedProperties.box.observe { change in print(change.new.content) },
    ]
}

/// A private type, alone and inside others.
@ConcurrentObservable
final class Private {
    private struct Entry: Sendable { var count = 0 }
    private typealias Entries = [Entry]
    private var entries: [Entry] = []
    private var first = Entry()
    private var all = Entries()
    var count: Int { entries.count + first.count + all.count }
}

/// Setters of every access.
@ConcurrentObservable
public final class Guarded {
    public private(set) var mine = 1
    public fileprivate(set) var file: Inferred?
    public internal(set) var module: String
    private(set) var inferred = State.idle
    fileprivate private(set) var both = [1]
    private(set) weak var weakly: Target?
    #if os(Linux)
    public private(set) var conditional = 1 + 1
    #endif

    init(module: String) {
        self.module = module
        mine = 2
        _mine.modify { $0 += 1 }
    }
}

final class Target: WeaklyObservable {
    let lifetime = ReferentLifetime()
}

nonisolated func use(_ model: Guarded) -> [ObservationToken] {
    // Where the setter can be used, so can the property itself.
    model._file.modify { $0 = nil }
    model._module.modify { $0 += "!" }
    let mine: ReadOnly<Int> = model.observedProperties.mine
    let inferred: ReadOnly<State> = model.observedProperties.inferred
    return [
        mine.observe { change in print(change.new) },
        inferred.observe { change in print(change.new) },
        model.observe(\.mine) { (change: Change<Int>) in print(change) },
        model.observe(\.file.title) { (change: Change<String?>) in print(change) },
        model.observe(\.module) { (change: Change<String>) in print(change) },
        model.observe(\.inferred) { (change: Change<State>) in print(change) },
        model.observe(\.both) { (change: Change<[Int]>) in print(change) },
        model.observe(\.conditional) { (change: Change<Int>) in print(change) },
        model.observedProperties.weakly.observe { (change: Change<Target?>) in print(change) },
    ]
}

/// A model with static variables.
@ConcurrentObservable
final class Statics {
    static let shared = Statics()
    nonisolated(unsafe) static var count = 0
    @TaskLocal static var current: Int?
    @MainActor static var title = ""
    class var kind: String { "" }
    var value = 1
}

/// A model with variables that are compiled out.
@ConcurrentObservable
final class Conditional {
    #if os(Windows)
    lazy var handle: UnsafeMutableRawPointer? = nil
    var name = "w" { didSet {} }
    #elseif os(Linux)
    var name = ["linux"].count
    #else
    var other: Any
    #endif
    #if NEVER
    var never = State.idle
    #endif
}

func use(_ model: Conditional) -> ObservationToken { model.observe(\.name) { change in print(change.new + 1) } }

@ConcurrentObservable
final class Empty {}

/// A base class, settings that are not too early, and a list of its own.
@ConcurrentObservable
final class Careful: ConcurrentObservable {
    var name = "a"
    var mileage: Int
    let plate: String

    init(plate: String, name: String) {
        mileage = 0
        self.plate = plate
        self.name = name
    }

    init?(_ text: String) {
        guard let number = Int(text) else { return nil }
        (mileage, plate) = (number, text)
        name = text
    }

    convenience init() {
        self.init(plate: "", name: "")
        name = "b"
    }

    func cancelAllObservations() { observedProperties.name.cancelAllObservations() }
}

/// Coded by hand.
@ConcurrentObservable
final class Coded: Codable {
    var name = "a"

    init(from decoder: any Decoder) throws { name = try decoder.singleValueContainer().decode(String.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

nonisolated func removeAll(_ model: some ObservationSource) { model.cancelAllObservations() }

nonisolated func use(_ model: Statics, _ empty: Empty, _ careful: Careful) {
    removeAll(model)
    removeAll(empty)
    removeAll(careful)
}

/// A generic model.
@ConcurrentObservable
final class Slot<Value: Sendable> {
    var value: Value
    var history: [Value] = []
    var last = Optional<Value>.none

    init(_ value: Value) { self.value = value }
}

func use(_ slot: Slot<Int>) -> [ObservationToken] {
    [
        slot.observe(\.value) { (_: Change<Int>) in },
        slot.observe(\.history) { (_: Change<[Int]>) in },
        slot.observe(\.last) { (_: Change<Int?>) in },
    ]
}

/// Models inside others.
nonisolated enum Outer {
    @ConcurrentObservable
    final class Inner {
        enum Kind: Sendable { case a }
        var kind = Kind.a
        var outer = Outer.start
    }

    static let start = 1
}

/// Derived variables.
@ConcurrentObservable
public final class Watched {
    public let limit: Int
    public var level = 1
    var state = State.idle
    var slot: Slot<Int>?
    private var secret = [1]
    @ConcurrentDerived public var isHigh: Bool { level > limit }
    @ConcurrentDerived var isIdle: Bool {
        if case .idle = state { return !isHigh }
        return false
    }
    @ConcurrentDerived var slotValue: Int { slot?.value ?? Self.none }
    @ConcurrentDerived private var sum: Int { secret.reduce(level) { $0 + $1 } }
    @ConcurrentDerived var history: [Int] {
        get {
            guard let slot else { return [] }
            let level = level
            return slot.history.filter { $0 > level }
        }
    }

    static let none = 0

    init(limit: Int) { self.limit = limit }

    func observeSum() -> ObservationToken { observe(\.sum) { (_: Change<Int>) in } }
}

@ConcurrentObservable
final class Station {
    var watched = Watched(limit: 1)
}

nonisolated func use(_ watched: Watched, _ station: Station) -> [ObservationToken] {
    let isHigh: Derived<Bool> = watched.observedProperties.isHigh
    return [
        isHigh.observe { change in print(change.new) },
        watched.observe(\.isIdle) { (_: Change<Bool>) in },
        watched.observe(\.history, delivery: .serial()) { (_: Change<[Int]>) in },
        station.observe(\.watched.isHigh) { (_: Change<Bool>) in },
        station.property(\.watched.slotValue).observeValues { print($0 + 1) },
    ]
}

/// A name that the macro's own names must not hide. Below it are models that a body follows.
nonisolated let object = 41

@ConcurrentObservable
final class Part {
    var model = "V8"
    var collector = 1
    var read = 2
    var follow = 3
    var peer: Slot<Int>?
    var peers: [Slot<Int>] = []
}

@ConcurrentObservable
final class Whole {
    var get = 1
    var part = Part()
    var spare: Part?
    var parts: [Part] = []
    private var entry = Entry()
    private struct Entry: Sendable { var count = 0 }
    @ConcurrentDerived var title: String { part.model + "\(part.collector + part.read + part.follow)" }
    @ConcurrentDerived var total: Int { self.get + object + entry.count + MemoryLayout<Self>.size }
    @ConcurrentDerived var mapped: String { spare.map { $0.model } ?? spare.flatMap { $0.model } ?? "" }
    @ConcurrentDerived var reads: [Int] { parts.map { $0.read } + parts.sorted { $0.read < $1.read }.map(\.read) }
    @ConcurrentDerived var peer: Int? { spare?.peer?.value ?? parts[0].peers[0].value }
    @ConcurrentDerived var peers: [Int] {
        let peers = part.peers
        return peers.map { $0.value }
    }
    @ConcurrentDerived var itself: Part { unfollowed(spare) ?? unfollowed(part) }
    @ConcurrentDerived var all: [Part] { unfollowed(parts) }
    @ConcurrentDerived var isSame: Bool {
        unfollowed(part) === unfollowed(spare) && unfollowed(part.peer) === unfollowed(part.peers).first
    }
    @available(*, deprecated) @ConcurrentDerived var old: Int { self.get }
}
