// SPDX-License-Identifier: Apache-2.0

/// Options for what an observer receives in addition to a property's changes.
///
/// Bits of a raw value that are none of these options are ignored.
public struct ObservationOptions: OptionSet, Sendable {
    public let rawValue: UInt8

    // Transparent: the options below are then constants in debug builds, too, and nothing that is made on first use. (P18)
    @_transparent
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A delivery of the present value before `observe` returns. (P4)
    public static let initial = ObservationOptions(rawValue: 1)

    /// A delivery before each change as well, with the reason ``ChangeReason/prior`` and the present value.
    ///
    /// It carries the value and the version at the moment when they were sampled. That is exact
    /// with one writer. `modify` and `compareExchange` send none.
    public static let prior = ObservationOptions(rawValue: 2)
}
