// SPDX-License-Identifier: Apache-2.0

#if Macros
import ConcurrentObserveMacros
import Dispatch
import Synchronization
import Testing

/// Tests of the expanded code; the models are in Models.swift.
@Suite("@ConcurrentObservable at run time")
struct RunTimeTests {
    @Test("A variable is read and set as before, and observers receive it")
    func accessors() {
        let car = Car(plate: "AB 1", mileage: 7)
        let received = ReceivedValues<String>()
        let token = car.observe(\.name) { change in received.add("\(change.old ?? "-") \(change.new)") }
        car.name = "Golf"
        car.name += "!"
        #expect(car.name == "Golf!")
        #expect(car.description == "Golf! 7")
        #expect(received.all == ["Beetle Golf", "Golf Golf!"])
        #expect(token.cancelAndWaitBlocking() == .finished)
    }

    @Test("Initial values are version 0, whether declared or given by an initialiser")
    func initialValues() {
        let car = Car(plate: "AB 1", mileage: 7)
        #expect(car.observedProperties.mileage.snapshot() == (7, 0))
        #expect(car.observedProperties.name.snapshot() == ("Beetle", 0))
        #expect(car.observedProperties.price.value == -1.5)
        #expect(car.spare == nil && car.tags.isEmpty && !car.default)
        #expect(Driver(name: "Ada").observedProperties.name.snapshot() == ("Ada", 0))
    }

    @Test("The expression of an initial value is evaluated once")
    func initialValueOnce() {
        let before = Counted.count
        #expect(CountingModel().counted.number == before + 1)
        #expect(Counted.count == before + 1)
    }

    @Test("Key paths go over several steps, through optionals and weak variables")
    func paths() {
        let car = Car(plate: "AB 1", mileage: 7)
        let rpm = ReceivedValues<Int?>()
        let spare = ReceivedValues<Int?>()
        let driver = ReceivedValues<String?>()
        let tokens = [
            car.observe(\.engine.rpm) { change in rpm.add(change.new) },
            car.observe(\.spare.rpm) { change in spare.add(change.new) },
            car.observe(\.driver.name) { change in driver.add(change.new) },
        ]
        car.engine.rpm = 900
        car.engine = Engine()
        car.spare = Engine()
        let ada = Driver(name: "Ada")
        car.driver = ada
        ada.name = "Grace"
        #expect(rpm.all == [900, 800])
        #expect(spare.all == [800])
        #expect(driver.all == ["Ada", "Grace"])
        withExtendedLifetime((tokens, ada)) {}
    }

    @Test("A weak variable keeps nothing alive, and becomes nil")
    func weakVariable() {
        let car = Car(plate: "AB 1", mileage: 7)
        var ada: Driver? = Driver(name: "Ada")
        car.driver = ada
        #expect(car.driver === ada)
        ada = nil
        #expect(car.driver == nil)
        #expect(car.observedProperties.driver.version == 2)
    }

    @Test("A private variable is observed inside its class")
    func access() {
        let car = Car(plate: "AB 1", mileage: 7)
        let received = ReceivedValues<String>()
        let token = car.observeSecret { received.add($0) }
        car.setSecret("t")
        #expect(received.all == ["t"])
        withExtendedLifetime(token) {}
    }

    @Test("A variable that others cannot set, they read and observe: directly, by paths to it, and by paths through it")
    func readOnly() {
        let car = Car(plate: "AB 1", mileage: 7)
        let honks: ReadOnly<Int> = car.observedProperties.honks
        let speeds: ReadOnly<[Double]> = car.observedProperties.speeds
        let received = ReceivedValues<String>()
        let tokens = [
            honks.observe { change in received.add("honks \(change.new)") },
            car.observe(\.honks) { change in received.add("path \(change.new)") },
            car.observe(\.gear.number) { change in received.add("gear \(change.new.map { "\($0)" } ?? "none")") },
            car.observe(\.gear.ratio) { change in received.add("ratio \(change.new.map { "\($0)" } ?? "none")") },
            speeds.observe { change in received.add("speeds \(change.new)") },
            car.observe(\.speeds) { change in received.add("path \(change.new.count)") },
        ]
        car.honk()
        car.shift()
        halve(car.gear!)
        car.gear!.number = 2
        accelerate(car)
        #expect(
            received.all == [
                "honks 1", "path 1", "gear 1", "ratio 3.5", "ratio 1.75", "gear 2", "speeds [0.0, 1.5]", "path 2",
            ]
        )
        #expect(honks.snapshot() == (1, 1) && car.honks == 1 && speeds.version == 1)
        car.cancelAllObservations()
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    @Test("Changes by several threads are all made, and the last that is delivered is the value")
    func concurrently() async {
        let car = Car(plate: "AB 1", mileage: 0)
        let highest = Mutex((version: UInt64(0), value: 0))
        let token = car.observedProperties.mileage.observe { change in
            highest.withLock { if change.version > $0.version { $0 = (change.version, change.new) } }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1_000 {
                        car.observedProperties.mileage.modify { $0 += 1 }
                        car.name = "Golf"
                    }
                }
            }
        }
        #expect(car.mileage == 4_000)
        #expect(highest.withLock { $0 } == (4_000, 4_000))
        withExtendedLifetime(token) {}
    }

    @Test("Generic models, left-out variables, computed ones and constants")
    func others() {
        let slot = Slot(1)
        slot.value = 2
        #expect(slot.observedProperties.value.snapshot() == (2, 1))
        let mixed = Mixed()
        // Safe: one thread.
        unsafe mixed.plain = 3
        mixed.kept = 4
        #expect(mixed.sum == 7)
        #expect(Mirror(reflecting: mixed).children.compactMap(\.label).sorted() == ["_kept", "plain"])
    }

    @Test("A class may state its conformance, and have variables under a condition")
    func stated() {
        let stated = Stated()
        let received = ReceivedValues<Bool>()
        let token = stated.observe(\.isConditional) { change in received.add(change.new) }
        stated.isConditional = false
        stated.level += 1
        #expect(received.all == [false])
        #expect(stated.level == 2)
        withExtendedLifetime(token) {}
    }

    @Test("P8 All observations of a model end at once: of its properties, of paths, of whatever delivery")
    func removal() async {
        let (car, other) = (Car(plate: "AB 1", mileage: 7), Car(plate: "AB 2", mileage: 8))
        let received = ReceivedValues<String>()
        let actor = ObservationActor()
        let tokens = [
            car.observedProperties.name.observe { _ in received.add("direct") },
            car.observe(\.name) { _ in received.add("path of one step") },
            car.observe(\.engine.rpm) { _ in received.add("path") },
            car.observe(\.driver.name) { _ in received.add("weak path") },
            car.observedProperties.driver.observe { _ in received.add("weak") },
            Group(car.property(\.name), car.property(\.mileage)).observe { _ in received.add("several") },
            car.observe(\.mileage, delivery: .queue(DispatchQueue(label: "cars"))) { _ in received.add("queue") },
            car.observedProperties.tags.observe(on: actor) { _, _ in received.add("actor") },
            car.observeSecret { _ in received.add("private") },
        ]
        let kept = other.observe(\.name) { _ in received.add("other") }
        let values = Task { for await _ in car.observedProperties.price.values(buffering: .latest) {} }
        while car.observedProperties.price.observationCount == 0 { await Task.yield() }
        car.cancelAllObservations()
        await values.value
        #expect(tokens.allSatisfy { !$0.isActive })
        car.name = "Golf"
        car.engine.rpm = 1
        car.engine = Engine()
        let driver = Driver(name: "Ada")
        car.driver = driver
        car.mileage = 8
        car.tags = ["a": [1]]
        car.setSecret("t")
        other.name = "Golf"
        #expect(received.all == ["other"])
        withExtendedLifetime((kept, driver, actor)) {}
    }

    @Test("P8 Removal by object in generic code, and of a class that writes it itself")
    func genericRemoval() {
        func removeAll(_ model: some ObservationSource) { model.cancelAllObservations() }
        let (engine, stated, guesses) = (Engine(), Stated(), Guesses())
        let tokens = [
            engine.observe(\.rpm) { _ in }, stated.observe(\.isConditional) { _ in },
            guesses.observe(\.state) { _ in },
        ]
        removeAll(engine)
        removeAll(stated)
        removeAll(guesses)
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    @Test("Properties whose types the compiler infers are observed, modified and bound like others")
    func inferred() {
        let guesses = Guesses()
        let received = ReceivedValues<[Int]>()
        let tokens = [
            guesses.observe(\.numbers) { change in received.add(change.new) },
            guesses.observe(\.next.numbers) { change in received.add(change.new ?? []) },
            guesses.observe(\.state) { change in received.add(change.new == .moving ? [-1] : []) },
        ]
        #expect(guesses.observedProperties.numbers.snapshot() == ([1, 2], 0))
        guesses.observedProperties.numbers.modify { $0.append(3) }
        guesses.numbers = [4]
        guesses.next = Guesses.Next()
        guesses.next?.numbers = [5]
        guesses.state = .moving
        #expect(received.all == [[1, 2, 3], [4], [0], [5], [-1]])
        #expect(guesses.distinct == [1] && guesses.zeros == [0, 0] && guesses.code == nil)
        guesses.play()
        #expect(guesses.isFast)
        withExtendedLifetime(tokens) {}
    }

    @Test("An edit through a variable works on the array that is there, and sets what it has made: it copies once")
    func edit() {
        let guesses = Guesses()
        let before = address(guesses.numbers)
        let edit = guesses.numbers.edit()
        #expect(edit.before == before && edit.after != before)
        #expect(address(guesses.numbers) == edit.after)
        #expect(guesses.numbers == [1, 2, 3])
    }

    @Test("The observation ends with the model")
    func end() async {
        var engine: Engine? = Engine()
        let (ends, received) = AsyncStream.makeStream(of: ObservationEnd.self)
        let token = engine!.observe(\.rpm) { _ in Issue.record("nothing has changed") }
        token.onEnd { end in received.yield(end) }
        engine = nil
        #expect(!token.isActive)
        #expect(await ends.first { _ in true } == .sourceDeleted)
    }
}

/// Returns the address of an array's elements.
private func address(_ array: [Int]) -> UInt {
    // Safe: compared, not followed.
    unsafe array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
}

extension [Int] {
    /// Appends 3. Returns the address of the elements before and afterwards.
    fileprivate mutating func edit() -> (before: UInt, after: UInt) {
        let before = address(self)
        append(3)
        return (before, address(self))
    }
}

/// The values that callbacks have received, in order.
final class ReceivedValues<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }

    func add(_ element: Element) { elements.withLock { $0.append(element) } }
}
#endif
