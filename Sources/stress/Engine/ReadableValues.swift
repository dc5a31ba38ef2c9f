// SPDX-License-Identifier: Apache-2.0

/// Properties whose values show whether they were read whole.
final class ReadableValues: Sendable {
    private let number = Observed<UInt64>(0)
    private let text = Observed(String.whole(0))
    private let list = Observed([UInt64].whole(0))

    /// Makes the properties, and reads all of them once. On first use the runtime makes objects
    /// under locks, which a fork may find held.
    init() { precondition(areRight, "the values are not whole") }

    func set(_ value: UInt64) {
        number.value = Self.number(value)
        text.value = .whole(value)
        list.value = .whole(value)
    }

    /// Whether each property has a value that was set. Reads every property.
    var areRight: Bool {
        let (number, text, list) = (number.value, text.value, list.value)
        return number >> 32 == number & 0xFFFF_FFFF && text.isWhole && list == .whole(list[0])
    }

    /// Runs `body` inside a `modify` of each property.
    func modify(_ body: () -> Void) {
        number.modify { _ in body() }
        text.modify { _ in body() }
        list.modify { _ in body() }
    }

    /// Observes a property for a moment.
    func observe() { number.observe { (_: Change<UInt64>) in }.cancel() }

    private static func number(_ value: UInt64) -> UInt64 { value << 32 | value & 0xFFFF_FFFF }
}
