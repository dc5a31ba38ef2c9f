// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import OpenCombine

/// Changes of a property, on one thread: against stores behind a mutex, and, observed, against OpenCombine's subject.
enum PropertySetSuite {
    static let cases = [
        unobserved("property.set.int", setSingly, setSingly),
        unobserved("property.set.int-in-loop", setInLoop, setInLoop),
        observed("property.set.1-observer", setSingly, sendSingly),
        observed("property.set.1-observer-in-loop", setInLoop, sendInLoop),
        modify, setShortString, setHeapString, setObject,
    ]

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

    /// One observer that adds the new value to a counter, as the one sink does.
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

    private static let modify = Case(name: "property.modify.int-in-loop", unit: .nanoseconds, bar: .none) { effort in
        let (property, guarded) = (Observed(0), MutexInt(0))
        let times = effort.work(500_000)
        return Case.Sides(
            ours: { nanoseconds { modifyInLoop(property, times) } / Double(times) },
            reference: { nanoseconds { modifyInLoop(guarded, times) } / Double(times) }
        )
    }

    private static let setShortString = strings("short-string", ("one", "two"))

    /// With what retiring costs the setting thread: it waits for the reclamation thread when too much is pending.
    private static let setHeapString = strings(
        "heap-string",
        (PropertyReadSuite.heapString, PropertyReadSuite.heapString + ".")
    )

    private static func strings(_ what: String, _ pair: (String, String)) -> Case {
        Case(name: "property.set.\(what)", unit: .nanoseconds, bar: .none, summary: .median) { effort in
            let (property, guarded) = (Observed(pair.0), MutexString(pair.0))
            let times = effort.work(100_000)
            return Case.Sides(
                ours: { retiring { setInTurn(property, pair, times) } / Double(times) },
                reference: { nanoseconds { setInTurn(guarded, pair, times) } / Double(times) }
            )
        }
    }

    private static let setObject = Case(
        name: "property.set.object",
        unit: .nanoseconds,
        bar: .none,
        summary: .median
    ) { effort in
        let pair = (Object(), Object())
        let (property, guarded) = (Observed(pair.0), MutexObject(pair.0))
        let times = effort.work(100_000)
        return Case.Sides(
            ours: { retiring { setInTurn(property, pair, times) } / Double(times) },
            reference: { nanoseconds { setInTurn(guarded, pair, times) } / Double(times) }
        )
    }

    /// Nanoseconds that `body` takes; what it has left to the library's threads is done before the return.
    private static func retiring(_ body: () -> Void) -> Double {
        let time = nanoseconds(body)
        ConcurrentObserveDiagnostics.drain()
        return time
    }
}
