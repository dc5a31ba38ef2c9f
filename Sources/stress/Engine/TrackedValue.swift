// SPDX-License-Identifier: Apache-2.0

/// A value of several words that shows whether its words belong together, and whether it is still
/// alive.
struct TrackedValue: Sendable {
    let serial: UInt64
    private let complement: UInt64
    let capture: Capture
    private let seal: UInt64

    /// Makes a value.
    ///
    /// - Parameter atEnd: Called by the deinit of the value's capture.
    init(serial: UInt64, atEnd: (@Sendable () -> Void)? = nil) {
        self.serial = serial
        complement = ~serial
        capture = Capture(ProbeReference.make(serial: serial), atEnd: atEnd)
        seal = serial &* 0x9E37_79B9_7F4A_7C15
    }

    var probe: ProbeReference { capture.probe }

    /// Whether all words belong to the same value.
    var isWhole: Bool { complement == ~serial && seal == serial &* 0x9E37_79B9_7F4A_7C15 && probe.serial == serial }
}

extension Checker {
    /// Checks a value that a reader has borrowed or copied.
    func check(_ value: borrowing TrackedValue, _ moment: StaticString) {
        check(value.isWhole, "P2.whole-value", "a value is made of parts \(moment)")
        check(value.probe.destroyed == 0, "P14.not-while-read", "a value is destroyed \(moment)")
    }
}
