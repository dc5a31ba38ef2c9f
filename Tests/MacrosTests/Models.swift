// SPDX-License-Identifier: Apache-2.0

#if Macros
import ConcurrentObserveMacros
import Synchronization

@ConcurrentObservable
final class Engine {
    var rpm = 800
}

@ConcurrentObservable
final class Driver: WeaklyObservable {
    let lifetime = ReferentLifetime()
    var name: String

    init(name: String) { self.name = name }
}

@ConcurrentObservable
final class Car {
    let plate: String
    var name = "Beetle"
    var mileage: Int
    var price = -1.5
    var engine = Engine()
    var spare: Engine?
    var tags: [String: Set<Int>] = [:]
    var onHonk: @Sendable () -> Void = {}
    var `default` = false
    weak var driver: Driver?
    private var secret = "s"
    private(set) var honks = 0
    private(set) var gear: Gear?
    fileprivate(set) var speeds = [0.0]
    var description: String { "\(name) \(mileage)" }
    static let wheels = 4

    init(plate: String, mileage: Int) {
        self.plate = plate
        self.mileage = mileage
    }

    func honk() {
        _honks.modify { $0 += 1 }
        onHonk()
    }

    func observeSecret(_ body: @escaping @Sendable (String) -> Void) -> ObservationToken {
        observe(\.secret) { change in body(change.new) }
    }

    func shift() { gear = Gear() }

    func setSecret(_ text: String) { secret = text }
}

func accelerate(_ car: Car) { car.speeds.append(1.5) }

@ConcurrentObservable
final class Gear {
    var number = 1
    fileprivate(set) var ratio: Double? = 3.5
}

// Code that may set the variable may change it in one step.
func halve(_ gear: Gear) { gear._ratio.modify { $0 = $0.map { $0 / 2 } } }

@ConcurrentObservable
final class Slot<Value: Sendable> {
    var value: Value

    init(_ value: Value) { self.value = value }
}

@ConcurrentObservable
final class Mixed {
    var kept = 1
    @ConcurrentObservationIgnored nonisolated(unsafe) var plain = 2
    // Safe: one thread.
    var sum: Int { unsafe kept + plain }
}

@ConcurrentObservable
public final class Stated: ConcurrentObservable {
    public var level: Int = 1
    #if Macros
    public var isConditional = true
    #else
    public var isUnconditional = true
    #endif

    public init() {}
}

@ConcurrentObservable
final class Guesses {
    enum State: Sendable { case idle, moving }
    private enum Speed: Sendable { case slow, fast }

    var state = State.idle
    var numbers = [1, 2]
    var distinct = Set([1])
    var zeros = Array(repeating: 0, count: 2)
    var code = Int("x")
    var next = Next?.none
    private var speed = Speed.slow
    #if Macros
    var sum = 1 + 2
    #else
    var handle: Any
    #endif

    var isFast: Bool { speed == .fast }

    func play() { speed = .fast }

    @ConcurrentObservable
    final class Next {
        var numbers = [0]
    }
}

struct Counted: Sendable {
    private static let made = Atomic<Int>(0)
    static var count: Int { made.load(ordering: .relaxed) }

    let number = Self.made.add(1, ordering: .relaxed).newValue
}

@ConcurrentObservable
final class CountingModel {
    var counted = Counted()
}

@ConcurrentObservable
final class Turbine {
    static let maximum = 6_000
    let limit: Int
    let tolerance = 1.5
    var rpm = 800
    var isStalled = false
    var mode = Guesses.State.idle
    var gear: Gear?
    var engine = Engine()
    private(set) var alarms = 0
    weak var driver: Driver?
    @ConcurrentDerived var isHealthy: Bool { rpm < limit && !isStalled }
    @ConcurrentDerived
    var load: Double {
        get {
            let limit = Double(self.limit) * tolerance
            guard mode == .moving else { return 0 }
            return Double(rpm) / limit
        }
    }
    @ConcurrentDerived var status: String {
        if let gear { return "\(gear.number): \(isHealthy ? "healthy" : "sick")" }
        return [alarms].map { [rpm] alarms in "\(alarms) \(rpm <= Self.maximum)" }[0]
    }
    @ConcurrentDerived var engineIsHot: Bool { engine.rpm > 6_000 }
    @ConcurrentDerived fileprivate var name: String? { driver?.name }
    #if Macros
    @ConcurrentDerived var `default`: Int { rpm &+ alarms }
    #endif

    init(limit: Int) { self.limit = limit }

    func raise() { alarms += 1 }

    func observeName(_ body: @escaping @Sendable (String?) -> Void) -> ObservationToken {
        observe(\.name) { change in body(change.new) }
    }
}

/// A type that cannot be copied. After it comes one that is not Sendable.
struct Alone: ~Copyable {}
class Shared {}

@ConcurrentObservable
final class Nameplate: @unchecked Sendable {
    let number: Int
    let text = "V8", year: Int? = 1998
    let turbine: Turbine
    let others: [Turbine]
    let level: Observed<Int>
    let alone: Alone
    let shared: Shared
    fileprivate let `default`: Bool
    private let hidden: Int
    let guessed = [1].count
    var rpm = 1

    init(_ number: Int, _ turbine: Turbine) {
        (self.number, self.turbine, others, level) = (number, turbine, [turbine], Observed(number))
        alone = Alone()
        (shared, `default`, hidden) = (Shared(), true, 2)
    }
}

@ConcurrentObservable
final class Fixed {
    private let turbine: Turbine
    let limit: Int
    @ConcurrentDerived var isFast: Bool { turbine.rpm > limit }

    init(_ turbine: Turbine, limit: Int) { (self.turbine, self.limit) = (turbine, limit) }
}

@ConcurrentObservable
final class Machine {
    let made: Int
    var plate: Nameplate
    @ConcurrentDerived var sum: Int {
        let others = plate.others
        let limits = others.map { $0.limit }
        let numbers: [Int] = [plate.number, plate.year ?? 0, plate.turbine.rpm]
        return numbers.reduce(limits[0], +)
    }
    @ConcurrentDerived var hasDefault: Bool { plate.default }

    init(_ plate: Nameplate) { (made, self.plate) = (1, plate) }
}

@ConcurrentObservable
final class Plant {
    var turbine = Turbine(limit: 1_000)
    var spare: Turbine?
}

let object = 41

@ConcurrentObservable
final class Named {
    var model = "V8"
    var level = 1
    var gear = Gear()
    var gears: [Gear] = []
}

@ConcurrentObservable
final class Owner {
    var get = 1
    var named = Named()
    var spare: Named?
    var all: [Named] = []
    private struct Entry: Sendable { var count = 0 }
    private var entry = Entry()
    @ConcurrentDerived var title: String { named.model + (spare?.model ?? "") }
    @ConcurrentDerived var sum: Int { all.map { $0.level + $0.gear.number }.reduce(self.get, +) }
    @ConcurrentDerived var mapped: Int { spare.map { $0.gear.number } ?? object }
    @ConcurrentDerived var gears: [Int] {
        let gears = named.gears
        return gears.map { $0.number }
    }
    @ConcurrentDerived var present: Named { unfollowed(spare) ?? unfollowed(named) }
    @ConcurrentDerived var isSpare: Bool { unfollowed(named) === unfollowed(spare) }
    @ConcurrentDerived private var count: Int { entry.count }

    func enter() -> Int {
        entry.count += 1
        return property(\.count).value
    }
}
#endif
