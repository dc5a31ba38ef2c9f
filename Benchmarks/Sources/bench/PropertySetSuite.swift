// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import OpenCombine

/// Measures changes of a property on one thread. The reference stores behind a mutex. If the
/// property is observed, the reference is OpenCombine's subject.
enum PropertySetSuite {
    static let cases = [
        unobserved("property.set.int", setSingly, setSingly),
        unobserved("property.set.int-in-loop", setInLoop, setInLoop),
        observed("property.set.1-observer", setSingly, sendSingly),
        observed("property.set.1-observer-in-loop", setInLoop, sendInLoop),
        manyObserved(100), manyObserved(1_000),
        modify,
        set("short-string", .setReference, beside: MutexString.self) { [pair = ("one", "two")] in
            $0 & 1 == 0 ? pair.0 : pair.1
        },
        set("heap-string", .setReference, beside: MutexString.self) { [pair = longStrings] in
            $0 & 1 == 0 ? pair.0 : pair.1
        },
        set("fresh-heap-string", .setReference, beside: MutexString.self) {
            String(decoding: repeatElement(UInt8($0 & 63), count: 32), as: UTF8.self)
        },
        set("array", .setReference, beside: MutexArray.self) { [pair = ([1, 2], [3])] in $0 & 1 == 0 ? pair.0 : pair.1
        },
        set("fresh-array", .setReference, beside: MutexArray.self) { [$0, $0] },
        set("dictionary", .setReference, beside: MutexDictionary.self) { [pair = ([1: 2], [3: 4])] in
            $0 & 1 == 0 ? pair.0 : pair.1
        },
        set("struct", .setObject, beside: MutexLimits.self) { [pair = longStrings] in
            Limits(name: $0 & 1 == 0 ? pair.0 : pair.1, perMinute: $0)
        },
        set("five-words", .setBox, beside: MutexWords.self) { Words(first: $0) },
        set("fresh-object", .setObject, beside: MutexObject.self) { Object($0) },
        reclamation,
    ]

    private static var longStrings: (String, String) {
        (PropertyReadSuite.heapString, PropertyReadSuite.heapString + ".")
    }

    private static func unobserved(
        _ name: String,
        _ set: @escaping @Sendable (Observed<Int>, Int) -> Void,
        _ store: @escaping @Sendable (MutexInt, Int) -> Void
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: .setUnobserved) { effort in
            let (property, guarded) = (Observed(0), MutexInt(0))
            let times = effort.work(500_000)
            return Case.Sides(
                ours: { nanoseconds { set(property, times) } / Double(times) },
                reference: { nanoseconds { store(guarded, times) } / Double(times) }
            )
        }
    }

    /// Returns a case with one observer that adds the new value to a counter. The reference has one
    /// sink that does the same.
    private static func observed(
        _ name: String,
        _ set: @escaping @Sendable (Observed<Int>, Int) -> Void,
        _ send: @escaping @Sendable (CurrentValueSubject<Int, Never>, Int) -> Void
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: .setObserved) { effort in
            let property = Observed(0)
            let (ours, theirs) = (Counter(), Counter())
            let token = property.observe { change in ours.value &+= change.new }
            let subject = CurrentValueSubject<Int, Never>(0)
            let sink = subject.sink { value in theirs.value &+= value }
            let (times, fewer) = (effort.work(400_000), effort.work(50_000))
            return Case.Sides(
                ours: {
                    withExtendedLifetime(token) { nanoseconds { set(property, times) } } / Double(times)
                },
                reference: {
                    withExtendedLifetime(sink) { nanoseconds { send(subject, fewer) } } / Double(fewer)
                }
            )
        }
    }

    /// Returns a case with this number of observers. The reference is a registry's notification of
    /// as many. Both sides have three kinds of closures.
    private static func manyObserved(_ count: Int) -> Case {
        Case(name: "property.set.\(count)-observers", unit: .nanoseconds, bar: .setManyObserved) { effort in
            let property = Observed(0)
            let tokens = (0..<count).map { index in
                let counter = Counter()
                return switch index % 3 {
                case 0: property.observe { change in counter.value |= change.new }
                case 1: property.observe { change in counter.value &-= change.new }
                default: property.observe { change in counter.value &+= change.new &* 2 }
                }
            }
            let observed = ObservedCounters(ofThreeKinds: count)
            let times = effort.work(4_000_000 / count)
            return Case.Sides(
                ours: { withExtendedLifetime(tokens) { nanoseconds { setInLoop(property, times) } } / Double(times) },
                reference: { nanoseconds { observed.notify(times) } / Double(times) }
            )
        }
    }

    private static let modify = Case(name: "property.modify.int-in-loop", unit: .nanoseconds, bar: .modify) { effort in
        let (property, guarded) = (Observed(0), MutexInt(0))
        let times = effort.work(500_000)
        return Case.Sides(
            ours: { nanoseconds { modifyInLoop(property, times) } / Double(times) },
            reference: { nanoseconds { modifyInLoop(guarded, times) } / Double(times) }
        )
    }

    /// Returns a case for values with references, two that alternate or a new one for each change.
    /// It includes the cost of retiring for the setting thread, which waits for the reclamation
    /// thread if too many items are pending.
    @inline(__always)
    private static func set<Reference: Guarding>(
        _ what: String,
        _ bar: Bar,
        beside _: Reference.Type,
        _ next: @escaping @Sendable (_ step: Int) -> Reference.Value
    ) -> Case {
        Case(name: "property.set.\(what)", unit: .nanoseconds, bar: bar, summary: .median) { effort in
            let (property, guarded) = (Observed(next(0)), Reference(next(0)))
            let times = effort.work(100_000)
            return Case.Sides(
                ours: { retiring { for step in 0..<times { property.value = next(step) } } / Double(times) },
                reference: { nanoseconds { for step in 0..<times { guarded.store(next(step)) } } / Double(times) }
            )
        }
    }

    /// The processor time of the reclamation thread for each change of a value that the changing
    /// thread itself releases. Once the two threads woke and delayed each other.
    private static let reclamation = Case(
        name: "property.set.array-on-the-reclamation-thread",
        unit: .nanoseconds,
        bar: .reclamationBesideSets,
        summary: .median,
        isLong: true
    ) { [pair = ([1, 2], [3])] _ in
        let property = Observed(pair.0)
        return Case.Sides(ours: {
            let (before, end) = (ThreadTime.nanoseconds(of: "observe-reclaim"), ContinuousClock.now + .seconds(1))
            var sets = 0
            while ContinuousClock.now < end {
                for step in 0..<10_000 { property.value = step & 1 == 0 ? pair.0 : pair.1 }
                sets += 10_000
            }
            return (ThreadTime.nanoseconds(of: "observe-reclaim") - before) / Double(sets)
        })
    }

    /// Returns the nanoseconds that `body` takes. Waits until the library's threads have done the
    /// remaining work.
    private static func retiring(_ body: () -> Void) -> Double {
        let time = nanoseconds(body)
        ConcurrentObserveDiagnostics.drain()
        return time
    }
}
