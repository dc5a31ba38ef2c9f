// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Glibc
import Interposition
import Testing

extension Promises {
    @Suite("P18 Fork: what the runtime makes on first use")
    struct P18TypesTests {}
}

/// A value of as many types as there are tags.
private final class Fresh<Tag>: Sendable, Equatable {
    static func == (left: Fresh, right: Fresh) -> Bool { left === right }
}

/// A value of nothing but bits, which do not fit into a property.
private struct Wide: Equatable {
    let first, second, third: Int
    init(_ first: Int) { (self.first, second, third) = (first, 0, 0) }
}

private enum First {}
private enum Second {}

/// What the runtime has left of the memory that it takes types from. It takes some under a lock whenever it makes a type.
private var rest: Int {
    struct Pool {
        let begin: UInt
        let remaining: Int
    }
    // Safe: these are the variable's type and its pointee's; the runtime exports it for debuggers.
    let pool = unsafe dlsym(nil, "_swift_debug_allocationPoolPointer")!.assumingMemoryBound(
        to: UnsafePointer<Pool>.self
    )
    return unsafe pool.pointee.pointee.remaining
}

/// The steps of a use, each with its name.
private func steps<Value: Equatable & Sendable>(_ property: Observed<Value>, _ value: Value) -> [(String, () -> Void)] {
    let kept = Slot<[ObservationToken]>([])
    let observer: @Sendable (Change<Value>) -> Void = { _ in }
    return [
        ("set", { property.value = value }),
        ("read", { _ = property.value }),
        ("exchange", { property.exchange(value) }),
        ("snapshot", { _ = property.snapshot() }),
        ("modify", { property.modify { $0 = value } }),
        ("compareExchange", { property.compareExchange(expected: value, desired: value) }),
        ("observe", { kept.put([property.observe(observer)]) }),
        ("set with an observer", { property.value = value }),
        (
            "observe, with all options",
            { kept.put([property.observe(options: [.initial, .prior], observer)]) }
        ),
        ("set with such an observer", { property.value = value }),
        ("withValue", { property.withValue { _ in } }),
        ("cancelAndWait", { _ = waitsForTheEnd(of: kept.value![0]) }),
    ]
}

private func steps(_ registry: ObserverRegistry<Int>) -> [(String, () -> Void)] {
    let kept = Slot<[ObservationToken]>([])
    let bag = ObservationBag()
    return [
        ("registry: observe", { kept.put([registry.observe { _ in }]) }),
        ("registry: notify", { registry.notify(1) }),
        ("registry: count", { _ = registry.observationCount }),
        ("registry: cancel", { kept.value![0].cancel() }),
        ("registry: observe, for an owner", { kept.put([registry.observe(owner: kept) { _, _ in }]) }),
        ("registry: notify for an owner", { registry.notify(1) }),
        ("registry: onEnd", { kept.value![0].onEnd { _ in } }),
        ("registry: cancelAllObservations", { registry.cancelAllObservations() }),
        ("bag: insert", { bag.insert(registry.observe { _ in }) }),
        ("bag: cancelAll", { bag.cancelAll() }),
        ("bag: cancelAllAndWait", { bag.cancelAllAndWaitBlocking() }),
        ("drain", { ConcurrentObserveDiagnostics.drain(deadline: .now + patience) }),
        ("diagnostics", { _ = ConcurrentObserveDiagnostics.current() }),
    ]
}

/// A group and a pair, which observe properties with several observers.
private func stepsOfMembers() -> [(String, () -> Void)] {
    let (first, second) = (Observed(0), Observed(0))
    let (owner, other) = (Slot<Int>(), Slot<Int>())
    let tokens = [
        Group(first, second, first).observe(owner: owner) { _, _ in },
        Group(first, second).observe { _ in },
        first.bindBidirectionally(with: second),
    ]
    return [
        ("members: count", { check(first.observationCount == 3 && second.observationCount == 3, "the counts") }),
        ("members: cancelAllObservations(ownedBy:), another", { first.cancelAllObservations(ownedBy: other) }),
        ("members: cancelAllObservations(ownedBy:)", { first.cancelAllObservations(ownedBy: owner) }),
        ("members: cancelAllObservations", { second.cancelAllObservations() }),
        ("members: count at the end", { check(first.observationCount == 0, "the first's count at the end") }),
        ("members: the other's count at the end", { check(second.observationCount == 0, "the second's") }),
        ("members: drain", { ConcurrentObserveDiagnostics.drain(deadline: .now + patience) }),
        ("members: isActive", { check(!tokens[0].isActive, "the first token, whose owner is \(owner)") }),
    ]
}

/// Keeps the thread that destroys it, until it may go on.
private final class Obstacle: Sendable {
    // Not `Signal`s, whose waits are the runtime's work, too.
    let isReached = DispatchSemaphore(value: 0)
    let goesOn: DispatchSemaphore

    init(_ goesOn: DispatchSemaphore) { self.goesOn = goesOn }

    deinit {
        isReached.signal()
        goesOn.wait()
    }
}

/// Closures of one registry that wait in several batches, because the destruction of the first takes long.
private func stepsOfDestruction() -> [(String, () -> Void)] {
    let registry = ObserverRegistry<Int>()
    let goesOn = DispatchSemaphore(value: 0)
    let obstacle = Obstacle(goesOn)
    let isReached = obstacle.isReached
    let first = registry.observe { [obstacle] _ in _ = obstacle }
    let others = (0..<50).map { _ in registry.observe { _ in } }
    return [
        (
            "registry: a long destruction",
            {
                first.cancel()
                isReached.wait()
            }
        ),
        (
            "registry: many batches behind it",
            {
                // Quickly: after some milliseconds another thread helps.
                for other in others {
                    other.cancel()
                    ConcurrentObserveDiagnostics.drain(deadline: .now)
                    usleep(50)
                }
            }
        ),
        (
            "registry: the end of the long destruction",
            {
                goesOn.signal()
                ConcurrentObserveDiagnostics.drain(deadline: .now + patience)
                withExtendedLifetime(registry) {}
            }
        ),
    ]
}

extension Promises.P18TypesTests {
    @Test("P18 A child's first use of what its parent has made asks the runtime for nothing that it makes under a lock")
    func firstUseInChild() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            // Made, and not used.
            let property = Observed("a text that does not fit into the property itself")
            let array = Observed([1, 2, 3])
            let wide = Observed(Wide(1))
            let registry = ObserverRegistry<Int>()
            let (members, destruction) = (stepsOfMembers(), stepsOfDestruction())
            let child = Process.fork()
            if child == 0 {
                Process.limitLife(seconds: 30)
                var text = ""
                for (name, step) in steps(property, "another text that does not fit there") + steps(array, [4])
                    + steps(wide, Wide(2)) + steps(registry) + members + destruction
                {
                    unsafe interposition_count("swiftCore", true)
                    step()
                    let count = interposition_counted()
                    if count > 0 { text += "\(name): \(count) locks; " }
                }
                check(text.isEmpty, text)
                _exit(0)
            }
            let status = Process.status(of: child)
            check(status == 0, "the child: \(status)")
            withExtendedLifetime((property, array, wide, registry, members, destruction)) {}
        }
    }

    @Test("P18 What a property's use needs of the runtime exists when the property is made")
    func property() async {
        await #expect(processExitsWith: .success) {
            // What all properties need.
            let (value, property) = (Fresh<First>(), Observed(Fresh<First>()))
            for (_, step) in steps(property, value) { step() }
            try Process.settle()

            let (second, other) = (Fresh<Second>(), Observed(Fresh<Second>()))
            var text = ""
            for (name, step) in steps(other, second) {
                let before = rest
                step()
                if rest != before { text += "\(name): \(before - rest) bytes; " }
            }
            check(text.isEmpty, text)
        }
    }
}
