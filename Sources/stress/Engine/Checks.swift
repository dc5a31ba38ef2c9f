// SPDX-License-Identifier: Apache-2.0

import Glibc

// Checks as scenarios write them: what must hold, the invariant, and how it reads when it does not.

extension Worker {
    @inline(__always)
    func check(_ holds: Bool, _ invariant: StaticString, message: () -> String) {
        check(holds, invariant, message())
    }

    /// Checks that two values are equal.
    ///
    /// - Parameter name: The thing that has the value, as in "the sum of a snapshot".
    @inline(__always)
    func check<Value: Equatable>(
        _ name: @autoclosure () -> String,
        _ value: Value,
        is expected: Value,
        _ invariant: StaticString
    ) {
        check(value == expected, invariant, "\(name()) is \(value), not \(expected)")
    }

    /// Waits while a mailbox without a bound has too much to deliver.
    func holdBack(_ token: ObservationToken) {
        while token.deliveryCounts!.pending > 1_000, !round.isOver { usleep(100) }
    }
}

extension Round {
    func check(_ holds: Bool, _ invariant: String, message: () -> String) { check(holds, invariant, message()) }

    /// Checks that two values are equal.
    func check<Value: Equatable>(
        _ name: @autoclosure () -> String,
        _ value: Value,
        is expected: Value,
        _ invariant: String
    ) {
        check(value == expected, invariant, "\(name()) is \(value), not \(expected)")
    }

    /// At rest: checks that a chain of changes has the versions 1, 2, 3, … each once, that each
    /// begins where the one before has ended, and that the last brings the present value.
    ///
    /// - Returns: Whether it is a chain.
    @discardableResult
    func check(
        _ chain: [ChainLink],
        from first: UInt64,
        to present: UInt64,
        versions: String,
        old: String,
        last: String
    ) -> Bool {
        var value = first
        for (index, change) in chain.sorted(by: { $0.version < $1.version }).enumerated() {
            check("the version of change \(index + 1)", change.version, is: UInt64(index) + 1, versions)
            check("the old value of version \(change.version)", change.old, is: value, old)
            guard violations.isEmpty else { return false }
            value = change.new
        }
        check(value == present, last, "the last change was \(value), and \(present) is present")
        return true
    }
}

/// A change, with the numbers of its values.
typealias ChainLink = (version: UInt64, old: UInt64, new: UInt64)

extension Violations {
    /// Checks without counting, in callbacks: a counter that threads share would order them.
    @inline(__always)
    func check(_ holds: Bool, _ invariant: StaticString, _ message: @autoclosure () -> String) {
        if !holds { report(invariant.description, message()) }
    }

    @inline(__always)
    func check(_ holds: Bool, _ invariant: StaticString, message: () -> String) {
        if !holds { report(invariant.description, message()) }
    }
}

/// Everything that callbacks have received, in the order in which they took the lock.
final class Record<Element: Sendable>: Sendable {
    private let received = Guarded<[Element]>([])

    var all: [Element] { received.withLock { $0 } }
    var count: Int { received.withLock { $0.count } }

    /// Notes one. Returns how many there are with it.
    @discardableResult
    func note(_ element: Element) -> Int {
        received.withLock { received in
            received.append(element)
            return received.count
        }
    }
}

/// A value that lives in a box of its own.
struct BoxedNumber: Distinct {
    private final class Box: Sendable {
        let serial: UInt64
        init(_ serial: UInt64) { self.serial = serial }
    }
    private let box: Box

    init(_ serial: UInt64) { box = Box(serial) }
    var serial: UInt64 { box.serial }
}

/// Thrown by bodies under test.
struct Refusal: Error {}
