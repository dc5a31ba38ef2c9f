// SPDX-License-Identifier: Apache-2.0

#if Macros
import ConcurrentObserveMacros
import Synchronization
import Testing

/// Tests of `@ConcurrentDerived`; the types are in Models.swift.
@Suite("@ConcurrentDerived at run time")
struct DerivedVariableTests {
    @Test("P22 P24 A derived variable follows what its body reads, and is silent where its result is the same")
    func observing() {
        let turbine = Turbine(limit: 1_000)
        let received = ReceivedValues<Bool>()
        let token = turbine.observe(\.isHealthy) { change in received.add(change.new) }
        turbine.rpm = 900
        turbine.rpm = 1_200
        turbine.isStalled = true
        turbine.rpm = 0
        turbine.isStalled = false
        #expect(received.all == [false, true])
        #expect(turbine.isHealthy && turbine.observedProperties.isHealthy.value)
        #expect(token.cancelAndWaitBlocking() == .finished)
    }

    @Test("Names in a body mean what they mean to the compiler: constants, locals, what is unwrapped, what is captured")
    func names() {
        let turbine = Turbine(limit: 1_000)
        let properties = turbine.observedProperties
        #expect(properties.load.value == 0)
        turbine.mode = .moving
        turbine.rpm = 750
        #expect(properties.load.value == 0.5 && turbine.load == 0.5)
        #expect(properties.status.value == "0 true" && turbine.status == "0 true")
        turbine.raise()
        #expect(properties.status.value == "1 true" && properties.default.value == 751)
        turbine.gear = Gear()
        #expect(properties.status.value == "1: healthy")
        turbine.gear?.number = 4
        turbine.isStalled = true
        #expect(properties.status.value == "4: sick" && turbine.status == "4: sick")
    }

    @Test("A body depends on the variables of the models that it reads, as they are replaced")
    func modelsOfModels() {
        let turbine = Turbine(limit: 1_000)
        let hot = ReceivedValues<Bool>()
        let names = ReceivedValues<String?>()
        let tokens = [
            turbine.observe(\.engineIsHot) { change in hot.add(change.new) },
            turbine.observeName { names.add($0) },
        ]
        let old = turbine.engine
        old.rpm = 7_000
        turbine.engine = Engine()
        old.rpm = 0
        turbine.engine.rpm = 7_000
        #expect(hot.all == [true, false, true])
        let ada = Driver(name: "Ada")
        turbine.driver = ada
        ada.name = "Grace"
        #expect(names.all == ["Ada", "Grace"])
        for token in tokens { token.cancel() }
    }

    @Test(
        "Models are followed through optionals and arrays, whatever their variables are called; as themselves if the body says so"
    )
    func models() {
        let owner = Owner()
        let properties = owner.observedProperties
        let title = ReceivedValues<String>()
        let token = owner.observe(\.title) { change in title.add(change.new) }
        let spare = Named()
        owner.named.model = "V12"
        owner.spare = spare
        spare.model = "V6"
        #expect(title.all == ["V12", "V12V8", "V12V6"])
        #expect(properties.sum.value == 1 && properties.mapped.value == 1)
        owner.all = [owner.named, spare]
        #expect(properties.sum.value == 5)
        spare.level = 10
        owner.named.gear.number = 5
        owner.get = 0
        #expect(properties.sum.value == 17 && owner.sum == 17)
        spare.gear = owner.named.gear
        #expect(properties.mapped.value == 5)
        owner.spare = nil
        #expect(properties.mapped.value == 41)
        owner.named.gears = [spare.gear]
        #expect(properties.gears.value == [5])
        spare.gear.number = 7
        #expect(properties.gears.value == [7] && owner.gears == [7])
        #expect(properties.present.value === owner.named && !properties.isSpare.value)
        owner.spare = spare
        #expect(properties.present.value === spare && !properties.isSpare.value)
        owner.named = spare
        #expect(properties.isSpare.value && owner.isSpare)
        #expect(owner.enter() == 1 && owner.enter() == 2)
        token.cancel()
    }

    @Test("P22 P24 The models in constants of the class itself are followed")
    func ownConstants() {
        let turbine = Turbine(limit: 10)
        let fixed = Fixed(turbine, limit: 900)
        let received = ReceivedValues<Bool>()
        let token = fixed.observe(\.isFast) { change in received.add(change.new) }
        for rpm in [901, 902, 900] { turbine.rpm = rpm }
        #expect(received.all == [true, false] && !fixed.observedProperties.isFast.value)
        #expect(token.cancelAndWaitBlocking() == .finished)
    }

    @Test("The constants of a followed model are read without ceremony")
    func constants() {
        let (first, second) = (Turbine(limit: 10), Turbine(limit: 20))
        let machine = Machine(Nameplate(1, first))
        let properties = machine.observedProperties
        #expect(machine.sum == 1 + 1998 + 800 + 10 && machine.hasDefault)
        let received = ReceivedValues<Int>()
        let token = machine.observe(\.sum) { change in received.add(change.new) }
        first.rpm = 900
        machine.plate = Nameplate(2, second)
        second.rpm = 801
        #expect(received.all == [2_909, 2_820, 2_821])
        #expect(properties.made.value == 1)
        let numbered = Derived { get in get.follow(properties.plate).number }
        #expect(numbered.value == 2)
        #expect(token.cancelAndWaitBlocking() == .finished)
    }

    @Test("Key paths of several steps lead to a derived variable, and follow every replacement")
    func paths() {
        let plant = Plant()
        let healthy = ReceivedValues<Bool>()
        let spare = ReceivedValues<Bool?>()
        let tokens = [
            plant.observe(\.turbine.isHealthy) { change in healthy.add(change.new) },
            plant.observe(\.spare.isHealthy) { change in spare.add(change.new) },
        ]
        plant.turbine.rpm = 2_000
        plant.turbine = Turbine(limit: 1_000)
        plant.spare = Turbine(limit: 700)
        plant.spare?.rpm = 0
        #expect(healthy.all == [false, true])
        #expect(spare.all == [false, true])
        #expect(plant.property(\.turbine.load).value == 0)
        for token in tokens { #expect(token.cancelAndWaitBlocking() == .finished) }
        plant.turbine.rpm = 2_000
        #expect(healthy.all == [false, true])
    }

    @Test("The derived value of a variable is made once, on whatever threads, and keeps no model alive")
    func lifetime() async {
        var turbine: Turbine? = Turbine(limit: 1_000)
        let made = await withTaskGroup(of: Derived<Bool>.self) { [turbine] group in
            for _ in 0..<8 { group.addTask { turbine!.observedProperties.isHealthy } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(made.allSatisfy { $0 === made[0] })
        let ended = Mutex(false)
        let token = made[0].observe { _ in }
        weak let observed = turbine
        turbine = nil
        #expect(observed == nil && made[0].value)
        token.cancel()
        ended.withLock { $0 = true }
    }

    @Test("P8 cancelAllObservations() ends those of derived variables")
    func removal() {
        let turbine = Turbine(limit: 1_000)
        let token = turbine.observe(\.isHealthy) { _ in }
        turbine.cancelAllObservations()
        #expect(!token.isActive)
    }
}
#endif
