// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P19 Derived values of drafts")
    struct P19DerivedDraftTests {}
}

private struct Overdrawn: Error {}

extension Promises.P19DerivedDraftTests {
    @Test("P19 A body reads a derived value of its drafts, and nothing of it is published")
    func transfer() {
        let (from, to) = (Observed(100), Observed(0))
        let total = Derived(from, to) { $0 + $1 }
        let received = Observed<[Int]>([])
        let token = total.observe { change in received.modify { $0.append(change.new) } }
        let group = Group(from, to)
        #expect(throws: Overdrawn.self) {
            try group.commit { transaction in
                #expect(transaction[total] == 100)
                transaction[from] -= 200
                #expect(transaction[total] == -100 && total.value == 100)
                transaction[to] += 50
                #expect(transaction[total] == -50)
                if transaction[total] < 0 { throw Overdrawn() }
            }
        }
        #expect(total.value == 100 && total.version == 0 && received.value == [])
        group.commit { transaction in
            transaction[from] -= 40
            transaction[to] += 50
            #expect(transaction[total] == 110)
        }
        #expect(total.value == 110 && received.value == [110])
        token.cancel()
    }

    @Test("P19 A derived value reads drafts by every way that leads to a member")
    func ways() {
        let car = Car(1)
        let (mileage, text, owner, spare) = (car.mileage, Observed("a"), WeakObserved<Referent>(), Observed(7))
        let pressure = car.axle.value.wheel.value.pressure
        let sum = Derived { get in get(mileage) + get(spare) }
        let twice = Derived { get in get(sum) * 2 }
        let all = Derived { get in
            let (mileage, twice) = get(Group(mileage, twice))
            let list = get(PropertyList([pressure, spare]))
            let path = get(car.property(\.axle.wheel.pressure))
            let grouped = get(Group(car.property(\.axle.wheel.pressure), spare)).0
            return
                "\(mileage) \(twice) \(list) \(path) \(grouped) \(get(text.readOnly)) \(get(owner)?.description ?? "-")"
        }
        let isOwned = owner.map { $0 != nil }
        let before = all.value
        let new = Referent("new")
        spare.value = 3
        Group(mileage, pressure, text, owner).commit { transaction in
            transaction[mileage] = 40
            transaction[pressure] = 9
            transaction[text] = "b"
            transaction[owner] = new
            #expect(transaction[twice] == 86)
            #expect(transaction[all] == "40 86 [9, 3] 9 9 b \(new.description)")
            #expect(transaction[isOwned] && !isOwned.value)
            transaction[text] = "c"
            #expect(transaction[all].contains(" c "))
            #expect(all.value != before && twice.value != 86)
        }
        #expect(all.value == "40 86 [9, 3] 9 9 c \(new.description)")
        withExtendedLifetime(new) {}
    }

    @Test("P19 A derived value in a body reads all other properties as of one moment, while threads change them")
    func others() throws {
        let (member, left, right, isDone) = (Observed(0), Observed(0), Observed(0), Observed(false))
        let difference = Derived { get in get(member) + get(left) - get(right) }
        let named = Derived(member, right, left) { $0 + $2 - $1 }
        let writer = TestThread {
            let group = Group(left, right)
            while !isDone.value {
                group.commit { transaction in
                    transaction[left] += 1
                    transaction[right] += 1
                }
            }
        }
        for number in 1...2_000 {
            Group(member, Observed(0)).commit { transaction in
                transaction[member] = number
                #expect(transaction[difference] == number)
                #expect(transaction[named] == number)
            }
        }
        isDone.value = true
        try writer.join()
    }

    @Test("P19 Results that were derived from drafts are destroyed, and errors of the function are its value")
    func lives() throws {
        let lives = Lives()
        do {
            let (name, number) = (Observed("a"), Observed(1))
            let referent = Derived { get in Referent(get(name), life: lives.make()) }
            let checked = Derived(throwing: { get throws(Overdrawn) in
                guard get(number) >= 0 else { throw Overdrawn() }
                return get(number)
            })
            Group(name, number).commit { transaction in
                transaction[name] = "b"
                #expect(transaction[referent].description.contains("b"))
                transaction[number] = -1
                #expect(throws: Overdrawn.self) { try transaction[checked].get() }
                transaction[number] = 2
            }
            #expect((try? checked.value.get()) == 2)
        }
        try lives.waitUntilNoneIsLeft()
    }
}
