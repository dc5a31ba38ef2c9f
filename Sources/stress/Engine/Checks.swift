// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Receives the results of checks. Scenarios write a check as the condition, the invariant, and the
/// message if the condition does not hold.
protocol Checker {
    /// The type of an invariant's name.
    associatedtype Name: ExpressibleByStringLiteral

    func check(_ holds: Bool, _ invariant: Name, _ message: @autoclosure () -> String)
}

extension Worker: Checker {}
extension Round: Checker {}
extension Violations: Checker {}
extension OrderedWitness: Checker {}

extension Checker {
    @inline(__always)
    func check(_ holds: Bool, _ invariant: Name, message: () -> String) { check(holds, invariant, message()) }

    /// Checks that two values are equal.
    ///
    /// - Parameter name: Describes the first value in the message, as in "the sum of a snapshot".
    @inline(__always)
    func check<Value: Equatable>(
        _ name: @autoclosure () -> String,
        _ value: Value,
        is expected: Value,
        _ invariant: Name
    ) {
        check(value == expected, invariant, "\(name()) is \(value), not \(expected)")
    }
}

extension Worker {
    /// Waits while a mailbox without a bound has too many pending events, so that memory does not
    /// grow without end.
    ///
    /// - Parameter isHeld: Returns whether the observer waits for changes.
    func holdBack(_ token: ObservationToken, unless isHeld: () -> Bool = { false }) {
        while token.deliveryCounts!.pending > 1_000, !isHeld(), !round.isOver { usleep(100) }
    }
}

extension Round {
    /// Checks at rest that changes are a chain. The versions 1, 2, 3, … occur once each. Each
    /// change begins with the value with which the one before ended. The last one has the present
    /// value.
    ///
    /// - Returns: Whether the changes are a chain.
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
    /// Checks an invariant in a callback, and does not count the check: a counter that threads
    /// share would order them.
    @inline(__always)
    func check(_ holds: Bool, _ invariant: StaticString, _ message: @autoclosure () -> String) {
        if !holds { report(invariant.description, message()) }
    }
}

/// The elements that callbacks have received, in the order in which they took the lock.
final class Record<Element: Sendable>: Sendable {
    private let received = Guarded<[Element]>([])

    var all: [Element] { received.withLock { $0 } }
    var count: Int { received.withLock { $0.count } }

    /// Adds an element. Returns the number of elements, including this one.
    @discardableResult
    func note(_ element: Element) -> Int {
        received.withLock { received in
            received.append(element)
            return received.count
        }
    }
}

/// A number that is too large for the property itself: it is stored in a box.
struct BoxedNumber: Distinct {
    private final class Box: Sendable {
        let serial: UInt64
        init(_ serial: UInt64) { self.serial = serial }
    }
    private let box: Box

    init(_ serial: UInt64) { box = Box(serial) }
    var serial: UInt64 { box.serial }
}

/// An error that bodies under test throw.
struct Refusal: Error {}
