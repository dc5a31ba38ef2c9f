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

// What may set the variable may change it in one step.
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
#endif
