// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P18 Fork: what the runtime makes on first use")
    struct P18TypesTests {}
}

/// A value of as many types as there are tags.
private final class Fresh<Tag>: Sendable, Equatable {
    static func == (left: Fresh, right: Fresh) -> Bool { left === right }
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
            { kept.put([property.observe(options: [.initial, .prior, .old, .new], observer)]) }
        ),
        ("set with such an observer", { property.value = value }),
        ("cancelAndWait", { _ = waitsForTheEnd(of: kept.value![0]) }),
    ]
}

extension Promises.P18TypesTests {
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
