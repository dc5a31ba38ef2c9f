// SPDX-License-Identifier: Apache-2.0

/// Properties whose values show whether they were read whole.
final class ReadableValues: Sendable {
    private let number = Observed<UInt64>(0)
    private let text = Observed(text(0))
    private let list = Observed(list(0))

    /// Makes the properties, and reads all of them once. On first use the runtime makes objects
    /// under locks, which a fork may find held.
    init() { precondition(areRight, "the values are not whole") }

    func set(_ value: UInt64) {
        number.value = Self.number(value)
        text.value = Self.text(value)
        list.value = Self.list(value)
    }

    /// Whether each property has a value that was set. Reads every property.
    var areRight: Bool {
        let (number, text, list) = (number.value, text.value, list.value)
        return number >> 32 == number & 0xFFFF_FFFF && text.utf8.count == 40
            && text.utf8.allSatisfy { $0 == text.utf8.first } && list == Self.list(list[0])
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
    /// Returns a text that is too long to be stored inline.
    private static func text(_ value: UInt64) -> String {
        String(repeating: Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8(value % 26))), count: 40)
    }
    private static func list(_ value: UInt64) -> [UInt64] { [value, value, value, value] }
}
