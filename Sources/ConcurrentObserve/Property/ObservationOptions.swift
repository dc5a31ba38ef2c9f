// SPDX-License-Identifier: Apache-2.0

/// What an observer receives beside a property's changes.
public struct ObservationOptions: OptionSet, Sendable {
    public let rawValue: UInt8

    // Transparent: the options below are then constants in debug builds, too, and nothing that is made on first use. (P18)
    @_transparent
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A delivery of the present value before `observe` returns. (P4)
    public static let initial = ObservationOptions(rawValue: 1)

    /// A delivery before each change as well, with the reason ``ChangeReason/prior`` and the present value.
    ///
    /// It carries the value and the version when it was sampled, which is exact with one writer. `modify` and
    /// `compareExchange` send none.
    public static let prior = ObservationOptions(rawValue: 2)

    /// The observer is a binding: a path delivers with each change which versions it shows, and what the bindings make of a commit is
    /// a commit. (P21)
    @usableFromInline
    internal static let ofBinding = ObservationOptions(rawValue: 128)

    /// The observer is one of several properties that are observed together: a commit calls it under the property's lock as well.
    /// Its closure is the library's, and runs no user code there. (P21)
    internal static let ofCombination = ObservationOptions(rawValue: 64)
}

extension ObservationOptions {
    /// The options as bits of an observer's mark.
    @usableFromInline
    internal var marks: ObserverMark {
        var marks: ObserverMark = contains(.prior) ? .receivesPrior : []
        if contains(.ofCombination) { marks.formUnion(.isCombined) }
        if contains(.ofBinding) { marks.formUnion(.isOfBinding) }
        return marks
    }
}
