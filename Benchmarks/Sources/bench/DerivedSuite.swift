// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve
import Judging
import OpenCombine

/// Measures derived values: reads of current ones compared with reads of a property, evaluations
/// compared with notifications, and graphs.
enum DerivedSuite {
    static let cases =
        [1, 2, 5].map(cleanRead) + [1, 2, 5].map(cleanReadOnTwoThreads)
        + [cleanStringRead, firedNode, firedDynamicNode, diamond, propagate, bytesIdle, bytesRead]

    // MARK: Reads

    private static func sum(_ properties: [Observed<Int>]) -> Derived<Int> {
        Derived { get in properties.reduce(0) { $0 + get($1) } }
    }

    private static func reading(_ roots: Int) -> (derived: Derived<Int>, property: Observed<Int>) {
        let properties = (1...roots).map { Observed($0) }
        let derived =
            switch roots {
            case 1: Derived(properties[0]) { $0 }
            case 2: Derived(properties[0], properties[1]) { $0 + $1 }
            default: sum(properties)
            }
        _ = derived.value
        return (derived, Observed(1))
    }

    /// Returns a case for a read of a value that is derived from `roots` properties which do not
    /// change.
    private static func cleanRead(_ roots: Int) -> Case {
        Case(
            name: "derived.read.clean-\(roots)-roots",
            unit: .nanoseconds,
            bar: .ratio(Double(1 + roots))
        ) { effort in
            let (derived, property) = reading(roots)
            let times = effort.work(500_000)
            return Case.Sides(
                ours: { nanoseconds { readSingly(derived, times) } / Double(times) },
                reference: { nanoseconds { readSingly(property, times) } / Double(times) }
            )
        }
    }

    private static func cleanReadOnTwoThreads(_ roots: Int) -> Case {
        Case(
            name: "derived.read.clean-\(roots)-roots-2-threads",
            unit: .nanoseconds,
            bar: .ratio(Double(1 + roots)),
            summary: .median
        ) { _ in
            let (derived, property) = reading(roots)
            let (ours, theirs) =
                ({ readSingly(derived, $0) }, { readSingly(property, $0) })
                as (
                    @Sendable (Int) -> Void, @Sendable (Int) -> Void
                )
            let times = 200_000
            return Case.Sides(
                ours: { nanosecondsPerOperation(times, [ours, ours]) },
                reference: { nanosecondsPerOperation(times, [theirs, theirs]) }
            )
        }
    }

    /// A derived value that holds a reference. The reference is a property with the same value.
    /// Both count the reference.
    private static let cleanStringRead = Case(
        name: "derived.read.clean-heap-string",
        unit: .nanoseconds,
        bar: .compared("it counts a reference, as the read of a property does")
    ) { effort in
        let property = Observed(PropertyReadSuite.heapString)
        let derived = property.map { $0 + "!" }
        let times = effort.work(200_000)
        return Case.Sides(
            ours: {
                nanoseconds {
                    var sum = 0
                    for _ in 0..<times { sum &+= derived.value.utf8.count }
                    consume(sum)
                } / Double(times)
            },
            reference: { nanoseconds { readInLoop(property, times) } / Double(times) }
        )
    }

    // MARK: Evaluations

    /// Returns a case for a change of the only source of an observed derived value: the change, the
    /// evaluation, the delivery. The reference is a change of a property that has the observer
    /// itself.
    private static func fired(_ name: String, _ make: @escaping @Sendable (Observed<Int>) -> Derived<Int>) -> Case {
        Case(name: name, unit: .nanoseconds, bar: .firedNode) { effort in
            let (source, plain) = (Observed(0), Observed(0))
            let derived = make(source)
            let (ours, theirs) = (Counter(), Counter())
            let tokens = [
                derived.observe { change in ours.value &+= change.new },
                plain.observe { change in theirs.value &+= change.new },
            ]
            let times = effort.work(50_000)
            return Case.Sides(
                ours: {
                    withExtendedLifetime((tokens, derived)) { nanoseconds { setInLoop(source, times) } } / Double(times)
                },
                reference: { withExtendedLifetime(tokens) { nanoseconds { setInLoop(plain, times) } } / Double(times) }
            )
        }
    }

    private static let firedNode = fired("derived.fire.1-source") { source in source.map { $0 &+ 1 } }
    private static let firedDynamicNode = fired("derived.fire.1-source-dynamic") { source in
        Derived { get in get(source) &+ 1 }
    }

    /// Returns the sum of five derived values of one property.
    static func diamond(of source: Observed<Int>) -> Derived<Int> {
        let arms = (0..<5).map { index in source.map { $0 &+ index } }
        return Derived(arms[0], arms[1], arms[2], arms[3], arms[4]) {
            (a: Int, b: Int, c: Int, d: Int, e: Int) -> Int in
            a &+ b &+ c &+ d &+ e
        }
    }

    /// The diamond with an observer. OpenCombine has no `combineLatest`, which would send five sums
    /// for each change, four of them from a mixture. Its `zip` sends one sum, as ours does.
    ///
    /// The bar is not met: 0.11. Six evaluations, each with a lock and a sequence lock, take two
    /// thirds of the instructions.
    private static let diamond = Case(
        name: "derived.fire.diamond-of-5",
        unit: .nanoseconds,
        bar: .diamondOfCombine
    ) { effort in
        let (source, counter) = (Observed(0), Counter())
        let sum = diamond(of: source)
        let token = sum.observe { change in counter.value &+= change.new }
        let (subject, theirs) = (CurrentValueSubject<Int, Never>(0), Counter())
        let mapped = (0..<5).map { index in subject.map { $0 &+ index } }
        let four = mapped[0].zip(mapped[1], mapped[2], mapped[3]) { (a: Int, b: Int, c: Int, d: Int) -> Int in
            a &+ b &+ c &+ d
        }
        let sink = four.zip(mapped[4]) { (sum: Int, e: Int) -> Int in sum &+ e }
            .sink { (sum: Int) in theirs.value &+= sum }
        let times = effort.work(10_000)
        return Case.Sides(
            ours: { withExtendedLifetime((token, sum)) { nanoseconds { setInLoop(source, times) } } / Double(times) },
            reference: { withExtendedLifetime(sink) { nanoseconds { sendInLoop(subject, times) } } / Double(times) }
        )
    }

    /// A hundred chains of a hundred derived values of one property, each observed. The figure is
    /// the time of one change for each node.
    private static let propagate = Case(
        name: "derived.fire.100-chains-of-100-per-node",
        unit: .nanoseconds,
        bar: .compared("nothing else here does it"),
        isLong: true
    ) { effort in
        let (source, counter) = (Observed(0), Counter())
        let ends = (0..<100).map { _ in
            var last = source.map { $0 &+ 1 }
            for _ in 1..<100 { last = last.map { $0 &+ 1 } }
            return last
        }
        let tokens = ends.map { $0.observe { change in counter.value &+= change.new } }
        let plain = Observed(0)
        let token = plain.observe { change in counter.value &+= change.new }
        let times = effort.work(8)
        return Case.Sides(
            ours: {
                withExtendedLifetime((tokens, ends)) { nanoseconds { setInLoop(source, times) } }
                    / Double(times * 10_000)
            },
            reference: {
                withExtendedLifetime(token) { nanoseconds { setInLoop(plain, times * 1_000) } }
                    / Double(times * 1_000)
            }
        )
    }

    // MARK: Memory

    private static func bytes(_ name: String, reads: Bool) -> Case {
        Case(name: name, unit: .bytes, bar: .bytesPerDerived, summary: .median, isLong: true) { _ in
            let count = 50_000
            return Case.Sides(ours: {
                let properties = (0..<count).map { Observed($0) }
                var derived: [Derived<Int>] = []
                derived.reserveCapacity(count)
                let other = Observed(0)
                ConcurrentObserveDiagnostics.drain()
                let before = creference_heap_bytes()
                for property in properties { derived.append(Derived(property, other) { $0 + $1 }) }
                if reads { for value in derived { consume(value.value) } }
                ConcurrentObserveDiagnostics.drain()
                let bytes = Double(creference_heap_bytes() - before) / Double(count)
                withExtendedLifetime((derived, properties)) {}
                return bytes
            })
        }
    }

    private static let bytesIdle = bytes("derived.init.bytes-unread", reads: false)
    private static let bytesRead = bytes("derived.init.bytes-idle", reads: true)
}

@inline(never)
private func read(_ derived: Derived<Int>) -> Int { derived.value }

@inline(never)
func readSingly(_ derived: Derived<Int>, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= read(derived) }
    consume(sum)
}
