// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Derived values that need themselves, and others that only seem to.

extension Promises {
    @Suite("P25 Rings")
    struct P25RingTests {}
}

extension Promises.P25RingTests {
    @Test("P25 A ring of values that never were together is none", arguments: [true, false])
    func ringOfAMixture(isObserved: Bool) {
        let (side, calls, slot) = (Observed(0), Counter(), Slot<Derived<Int>>())
        let first = Derived { get in
            guard get(side) == 0 else { return 10 }
            // `second` now reads 1, and so needs `first`, which has read 0: a ring of two versions.
            if calls.increment() == 1 { onAnotherThread { side.value = 1 } }
            return get(slot.value!) + 1
        }
        let second = Derived { get in get(side) == 0 ? 20 : get(first) + 1 }
        slot.put(second)
        let token = isObserved ? first.observe { _ in } : nil
        #expect(first.value == 10 && second.value == 11)
        side.value = 0
        #expect(first.value == 21 && second.value == 20)
        token?.cancel()
        slot.clear()
    }

    @Test("P25 Ever other mixtures that lead back to a value are no ring")
    func ringOfManyMixtures() {
        let (side, changes, slot) = (Observed(0), Counter(), Slot<Derived<Int>>())
        let changeSide = { @Sendable in
            if changes.increment() <= 1_000 { onAnotherThread { side.value += 1 } }
        }
        // Each reads the other where that does not read it, and finds it where it does.
        let first = Derived { get in
            guard get(side) % 2 == 0 else { return 10 }
            changeSide()
            return get(slot.value!) + 1
        }
        let second = Derived { get in
            guard get(side) % 2 == 1 else { return 20 }
            changeSide()
            return get(first) + 1
        }
        slot.put(second)
        #expect([10, 21].contains(first.value))
        #expect([11, 20].contains(second.value))
        #expect(changes.value < 200, "\(changes.value) runs")
        slot.clear()
    }

    @Test("P25 A way back of copies, and of what is present after them, is no ring")
    func ringOfSeveralMoments() {
        let (side, noise, runs, slot) = (Observed(0), Observed(0), Counter(), Slot<Derived<Int>>())
        let first = Derived { get in
            let isEven = get(side) % 2 == 0
            _ = get(noise)
            let run = runs.increment()
            if run <= 12 { onAnotherThread { noise.value += 1 } }
            guard isEven else { return 10 }
            // This one runs on copies.
            if run == 13 { onAnotherThread { side.value = 1 } }
            return get(Group(noise, slot.value!)).1 + 1
        }
        slot.put(Derived { get in get(side) % 2 == 0 ? 20 : get(first) + 1 })
        #expect(first.value == 10 && side.value == 1)
        slot.clear()
    }

    @Test("P25 A ring traps though a source changes faster than the ring is walked")
    func ringOfARestlessSource() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (source, slot) = (Observed(0), Slot<Derived<Int>>())
            let first = Derived(fileID: "first", line: 1) { get in
                let number = get(source)
                onAnotherThread { source.value = number + 1 }
                return get(slot.value!)
            }
            slot.put(Derived(fileID: "second", line: 2) { get in get(first) })
            print(first.value)
        }
        #expect(errors(of: result).contains("needs itself: first:1 → second:2 → first:1."))
    }

    @Test("P25 The path of a ring through groups has every step, also of values that are only looked at")
    func ringThroughAGroup() async {
        let evaluated = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (number, slot) = (Observed(0), Slot<Derived<Int>>())
            let first = Derived(fileID: "first", line: 1) { get in get(Group(number, slot.value!)).1 }
            let second = Derived(fileID: "second", line: 2) { get in get(first) }
            let third = Derived(fileID: "third", line: 3) { get in get(PropertyList([second, second]))[0] }
            slot.put(third)
            print(third.value)
        }
        #expect(errors(of: evaluated).contains(": third:3 → second:2 → first:1 → third:3."))

        let looked = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (number, isClosed, slot) = (Observed(0), Observed(false), Slot<Derived<Int>>())
            let first = Derived(fileID: "first", line: 1) { get in get(Group(number, slot.value!)).1 }
            let second = Derived(fileID: "second", line: 2) { get in get(isClosed) ? get(first) : 0 }
            slot.put(second)
            check(first.value == 0, "the value is wrong before there is a ring")
            isClosed.value = true
            // Whether the first is current, the group's version says, which asks the second.
            print(first.value)
        }
        #expect(errors(of: looked).contains(": first:1 → second:2 → first:1."), "\(errors(of: looked))")
    }
}

/// The text that a process wrote before it ended.
private func errors(of process: ExitTest.Result?) -> String {
    process.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
}
