// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// An operation whose instructions and allocations are counted. The numbers of one build do not
/// depend on the load of the machine.
struct CountedOperation: Sendable {
    /// `subject.operation.situation`.
    let name: String
    /// The bounds of the operation; nil if it is counted for comparison.
    let most: Most?
    let times: Int
    /// Prepares the situation. Returns a function that runs the operation this number of times.
    let prepare: @Sendable () -> (_ times: Int) -> Void

    /// The largest accepted numbers for an operation. They are a fifth to a quarter higher than the
    /// numbers at the time when the bound was set, with the toolchain of that time.
    ///
    /// Only the thread that runs the operation is counted, because the work of the library's
    /// threads differs from run to run.
    struct Most: Sendable {
        let instructions: Int
        let allocations: Double
    }

    init(_ name: String, _ most: Most?, times: Int = 1_000, prepare: @escaping @Sendable () -> (Int) -> Void) {
        (self.name, self.most, self.times, self.prepare) = (name, most, times, prepare)
    }
}

extension CountedOperation {
    static let all = notifications + reads + sets + [pair] + paths + groups + derived

    private static let notifications =
        [
            notification(of: 0, Most(instructions: 8, allocations: 0)),
            notification(of: 1, Most(instructions: 125, allocations: 0)),
            notification(of: 10, Most(instructions: 330, allocations: 0)),
            notification(of: 100, Most(instructions: 2_400, allocations: 0)),
        ] + [1, 10, 100].map(notificationInC) + [notificationBehindMutex]

    private static func notification(of observers: Int, _ most: Most) -> CountedOperation {
        CountedOperation("registry.notify.\(observers)-observers", most) { ObservedCounters(observers).notify }
    }

    private static func notificationInC(of observers: Int) -> CountedOperation {
        CountedOperation("c.notify.\(observers)-observers", nil) { CList(creference_list_make(observers)).notify }
    }

    private static let notificationBehindMutex = CountedOperation("mutex.notify.1-observers", nil) {
        let (list, counter) = (MutexList(), Counter())
        list.observe { event in counter.value &+= event }
        return { times in for event in 0..<times { list.notify(event) } }
    }

    private static let reads = [
        CountedOperation("property.read.int", Most(instructions: 14, allocations: 0)) {
            let property = Observed(1)
            return { readInLoop(property, $0) }
        },
        CountedOperation("property.read.short-string", Most(instructions: 128, allocations: 0)) {
            let property = Observed("fifteen bytes !")
            return { readInLoop(property, $0) }
        },
    ]

    private static let sets = [
        CountedOperation("property.set.int", Most(instructions: 105, allocations: 0)) {
            let property = Observed(0)
            return { setInLoop(property, $0) }
        },
        // There is one barrier and one scan of the threads for each 128 changes, and these allocate
        // memory. The boxes do not, once a magazine has been full.
        CountedOperation("property.set.five-words", Most(instructions: 375, allocations: 0.1), times: 10_000) {
            let property = Observed(Words(first: 0))
            return { times in for number in 0..<times { property.value = Words(first: number) } }
        },
        CountedOperation("property.set.heap-string", Most(instructions: 500, allocations: 0.1), times: 10_000) {
            let (property, pair) = (Observed(""), (PropertyReadSuite.heapString, PropertyReadSuite.heapString + "."))
            return { times in for number in 0..<times { property.value = number & 1 == 0 ? pair.0 : pair.1 } }
        },
        CountedOperation("property.set.1-observer", Most(instructions: 255, allocations: 0)) {
            let (property, counter) = (Observed(0), Counter())
            let token = property.observe { change in counter.value &+= change.new }
            return { times in withExtendedLifetime(token) { setInLoop(property, times) } }
        },
    ]

    /// A pair among a hundred other observers, on the thread that observes and cancels. Destruction
    /// on other threads is not counted. The number of recycled observers depends on the scheduler,
    /// so enough are recycled before the measurement. The allocation is the context of the closure.
    private static let pair = CountedOperation(
        "registry.observe+cancel",
        Most(instructions: 1_250, allocations: 1.1),
        times: 2_000
    ) {
        let (observed, counter) = (ObservedCounters(100), Counter.uncalled())
        let others = ObserverRegistry<Int>()
        var tokens = (0..<4_000).map { _ in others.observe { _ in } }
        tokens.removeAll()
        observed.registry.notify(1)
        return { times in
            for _ in 0..<times { observed.registry.observe { event in counter.value &+= event }.cancel() }
        }
    }

    private static let paths = [
        CountedOperation("path.set.1-step", Most(instructions: 260, allocations: 0)) {
            let (cars, counter) = (Cars(), Counter())
            let token = cars.garage.engine.observe(\.rpm) { change in counter.value &+= change.new }
            return { times in withExtendedLifetime((cars, token)) { setInLoop(cars.garage.engine.rpm, times) } }
        },
        CountedOperation("path.set.3-steps", Most(instructions: 385, allocations: 0)) {
            let (cars, counter) = (Cars(), Counter())
            let token = cars.garage.observe(\.car.engine.rpm) { change in counter.value &+= change.new }
            return { times in withExtendedLifetime((cars, token)) { setInLoop(cars.garage.engine.rpm, times) } }
        },
    ]

    private static let derived = [
        CountedOperation("derived.read.2-roots", Most(instructions: 53, allocations: 0)) {
            let derived = Derived(Observed(1), Observed(2)) { $0 &+ $1 }
            return { readSingly(derived, $0) }
        },
        CountedOperation("derived.fire.1-source", Most(instructions: 2_070, allocations: 0)) {
            let (source, counter) = (Observed(0), Counter())
            let derived = source.map { $0 &+ 1 }
            let token = derived.observe { change in counter.value &+= change.new }
            return { times in withExtendedLifetime((derived, token)) { setInLoop(source, times) } }
        },
        CountedOperation("derived.fire.diamond-of-5", Most(instructions: 7_200, allocations: 0)) {
            let (source, counter) = (Observed(0), Counter())
            let sum = DerivedSuite.diamond(of: source)
            let token = sum.observe { change in counter.value &+= change.new }
            return { times in withExtendedLifetime((sum, token)) { setInLoop(source, times) } }
        },
    ]

    private static let groups = [
        CountedOperation("binding.set.one-way", Most(instructions: 840, allocations: 0)) {
            let (source, destination) = (Observed(0), Observed(0))
            let token = source.bind(to: destination)
            return { times in withExtendedLifetime((token, destination)) { setInLoop(source, times) } }
        },
        CountedOperation("group.commit.2", Most(instructions: 600, allocations: 0)) {
            let (first, second) = (Observed(0), Observed(0))
            let group = Group(first, second)
            return { commitInLoop(group, first, second, $0) }
        },
        // Most of it is the runtime's lookup of types, which code for any value needs.
        CountedOperation("group.commit.2-observed", Most(instructions: 26_000, allocations: 9)) {
            let (first, second) = (Observed(0), Observed(0))
            let group = Group(first, second)
            let token = group.observe { change in consume(change.new.0) }
            return { times in withExtendedLifetime(token) { commitInLoop(group, first, second, times) } }
        },
        CountedOperation("list.commit.8", Most(instructions: 1_700, allocations: 0)) {
            let properties = (0..<8).map { Observed($0) }
            let list = PropertyList(properties)
            return { times in
                for value in 0..<times {
                    list.commit { transaction in for property in properties { transaction[property] = value } }
                }
            }
        },
        CountedOperation("group.snapshot.2", Most(instructions: 90, allocations: 0)) {
            let group = Group(Observed(0), Observed(0))
            return { snapshotInLoop(group, $0) }
        },
        CountedOperation("list.snapshot.8", Most(instructions: 820, allocations: 1)) {
            let list = PropertyList((0..<8).map { Observed($0) })
            return { times in for _ in 0..<times { consume(list.value.count) } }
        },
    ]
}
