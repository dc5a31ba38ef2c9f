// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P25 Derived values end")
    struct P25DerivedTests {}
}

extension Promises.P25DerivedTests {
    @Test("P25 Two that read each other's sources, on two threads, with observers that set both")
    func noRing() throws {
        let (a, b) = (Observed(0), Observed(0))
        let c = Derived { get in get(a) + get(b) }
        let d = Derived { get in get(b) - get(a) + get(c) }
        let tokens = [c.observe { _ in _ = d.value }, d.observe { _ in _ = c.value }]
        try onThreads(2) { thread in
            for step in 1...3_000 { (thread == 0 ? a : b).value = step }
        }
        #expect(c.value == 6_000 && d.value == 6_000)
        withExtendedLifetime(tokens) {}
    }

    @Test("P25 A reader that is handed to another thread traps, and says so")
    func reader() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let a = Observed(0)
            let c = Derived { get in
                onAnotherThread { _ = get(a) }
                return get(a)
            }
            _ = c.value
        }
        #expect(
            result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("to another thread") }
                == true
        )
    }

    @Test(
        "P25 P12 The function releases the last reference to a weak property's referent: it runs again, and nothing traps",
        arguments: [false, true]
    )
    func referentDiesInside(isObserved: Bool) throws {
        let (other, referent, dies) = (Observed(0), Slot(Referent("a")), Flag())
        let weak = WeakObserved(referent.value)
        let derived = Derived { get in
            let number = get(other)
            let object = get(weak)
            if dies.isSet {
                // Another thread's reference goes: the function has the last one.
                try? TestThread { referent.clear() }.join()
            }
            return object == nil ? -1 : number
        }
        #expect(derived.value == 0)
        let received = Log<Int>()
        let token = isObserved ? derived.observeValues { received.append($0) } : nil
        dies.set()
        other.value = 1
        #expect(derived.value == -1)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        if isObserved { #expect(received.entries.last == -1) }
        withExtendedLifetime(token) {}
    }

    @Test("P1 An observation that begins in a function receives the changes that other threads make meanwhile")
    func observesInside() throws {
        let (source, other, kept) = (Observed(0), Observed(0), Slot<ObservationToken>())
        let doubled = other.map { $0 * 2 }
        let received = Log<Int>()
        let derived = Derived { get in
            let value = get(source)
            kept.put(doubled.observeValues { received.append($0) })
            try? TestThread { other.value = 21 }.join()
            #expect(received.entries.last == 42)
            return value
        }
        #expect(derived.value == 0)
        kept.clear()
    }

    @Test(
        "P7 While a callback blocks that a function's change has called, the function's value is evaluated for others"
    )
    func blocksElsewhere() throws {
        let (source, side) = (Observed(0), Observed(0))
        let (isCalled, mayReturn) = (Signal("the callback"), Signal("its end"))
        let derived = Derived { get in
            side.value += 1
            return get(source)
        }
        let copy = side.map { $0 }
        let received = Log<Int>()
        let tokens = [
            derived.observeValues { received.append($0) },
            copy.observe { _ in
                isCalled.happen()
                mayReturn.hold()
            },
        ]
        source.value = 1
        try isCalled.wait()
        #expect(received.entries == [1])
        try TestThread { source.value = 2 }.join()
        #expect(received.entries == [1, 2])
        mayReturn.happen()
        withExtendedLifetime(tokens) {}
    }

    @Test("P25 A function sets a property that an observed value needs beside its own: evaluated afterwards, no ring")
    func setsBesideItself() {
        let (first, source, side) = (Observed(0), Observed(0), Observed(0))
        let inner = Derived { get in
            let value = get(source)
            side.value += 1
            return value
        }
        let outer = Derived { get in get(inner) * 1_000 + get(side) }
        let received = Log<Int>()
        // The source is changed when this is called, and not announced: the reader evaluates.
        let tokens = [
            outer.observeValues { received.append($0) }, first.observe { _ in #expect(inner.value == 2) },
        ]
        source.value = 1
        Group(first, source).commit { transaction in
            transaction[first] = 1
            transaction[source] = 2
        }
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        #expect(outer.value == 2_000 + side.value)
        #expect(received.entries.last == outer.value)
        withExtendedLifetime(tokens) {}
    }

    @Test("P25 A function that sets what it has read a few times, as the last release of an object may, has a result")
    func setsForAWhile() {
        let (source, runs) = (Observed(0), Counter())
        let derived = Derived { get in
            let value = get(source)
            runs.increment()
            if runs.value <= 8 { source.value += 1 }
            return value
        }
        #expect(derived.value == 8)
        #expect(runs.value == 9)
    }

    @Test("P25 The function may set, observe, cancel, make and drop, block and nest")
    func freedom() {
        let (a, side, kept) = (Observed(0), Observed(0), Slot<ObservationToken>())
        let other = a.map { $0 * 2 }
        let c = Derived { get in
            kept.put(side.observe { _ in })
            side.modify { $0 += 1 }
            let local = Derived { get in get(a) + get(other) }
            let token = local.observe { _ in }
            defer { token.cancel() }
            return get(local)
        }
        let token = c.observe { _ in }
        a.value = 1
        #expect(c.value == 3)
        token.cancel()
        kept.clear()
    }

    @Test("P25 P11 The program drops a derived value in a callback of it, or in the function of another: it goes on")
    func droppedInside() {
        let (a, slot, received) = (Observed(0), Slot<Derived<Int>>(), Log<Int>())
        slot.put(a.map { $0 })
        let token = slot.value!.observe { change in
            received.append(change.new)
            slot.clear()
        }
        let other = a.map { number in
            slot.clear()
            return number
        }
        .observe { _ in }
        for number in 1...3 { a.value = number }
        #expect(received.entries == [1, 2, 3] && token.isActive && other.isActive)
        token.cancel()
        other.cancel()
        #expect(a.observationCount == 0)
    }

    private final class Model: Sendable {
        private let stored = _DerivedStorage<Int>()

        func derived(of a: Observed<Int>) -> Derived<Int> { stored.derived { a.map { $0 } } }
    }

    @Test("P25 The last reference to a model goes in a callback of its derived value, or in the function of another")
    func lastReference() throws {
        let (a, slot, calls) = (Observed(0), Slot(Model()), Counter())
        let token = slot.value!.derived(of: a).observe { _ in
            calls.increment()
            slot.clear()
        }
        let (ended, second) = (Signal("the end of the observation"), a.map { $0 })
        token.onEnd { _ in ended.happen() }
        let other = second.observe { _ in slot.clear() }
        a.value = 1
        try ended.wait()
        a.value = 2
        #expect(calls.value == 1 && !token.isActive)
        other.cancel()
    }
}

/// Runs `body` on another thread, although the compiler would not allow it, and waits.
func onAnotherThread(_ body: () -> Void) {
    struct Unchecked: @unchecked Sendable { let body: () -> Void }
    withoutActuallyEscaping(body) { body in
        let unchecked = Unchecked(body: body)
        let thread = TestThread { unchecked.body() }
        check((try? thread.join()) != nil, "the other thread has not ended")
    }
}
