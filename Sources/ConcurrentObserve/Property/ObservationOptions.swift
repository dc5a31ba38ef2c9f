// SPDX-License-Identifier: Apache-2.0

/// Options for what an observer receives in addition to a property's changes.
///
/// Bits of the raw value that belong to none of these options are ignored.
public struct ObservationOptions: OptionSet, Sendable {
    public let rawValue: UInt8

    // Transparent: the options below are then constants in debug builds, too, and nothing is made
    // on first use. (P18)
    @_transparent
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A delivery of the present value before `observe` returns. (P4)
    public static let initial = ObservationOptions(rawValue: 1)

    /// An additional delivery before each change, with the reason ``ChangeReason/prior`` and the
    /// present value.
    ///
    /// This delivery carries a value and a version that were read shortly before the change. If
    /// only one thread changes the property, they are exactly the value and the version before the
    /// change. `modify`, `compareExchange` and commits make no such delivery.
    public static let prior = ObservationOptions(rawValue: 2)
}

/// The options of an observer: the options that a user can give, and the library's own.
///
/// A raw value of `ObservationOptions` never sets the library's bits.
@usableFromInline
internal struct ObserverOptions: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt8

    // Transparent, and computed below: the options are constants in debug builds, too, and nothing
    // is made on first use. (P18)
    @_transparent @usableFromInline
    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Makes the options from the options that a user has given.
    @inlinable
    init(_ options: ObservationOptions) {
        self.init(rawValue: options.rawValue & (ObserverOptions.initial.rawValue | ObserverOptions.prior.rawValue))
    }

    @inlinable static var initial: ObserverOptions { ObserverOptions(rawValue: 1) }
    @inlinable static var prior: ObserverOptions { ObserverOptions(rawValue: 2) }

    /// The observer belongs to a combination: properties that are observed together. A commit calls
    /// it under the property's mutation lock as well. Its closure is the library's, and runs no
    /// user code there. (P21)
    static var ofCombination: ObserverOptions { ObserverOptions(rawValue: 64) }

    /// The observer is a binding. With each change, a path delivers to it the versions that the
    /// change shows.
    @inlinable static var ofBinding: ObserverOptions { ObserverOptions(rawValue: 128) }
}

extension ObserverOptions {
    /// The options as bits of an observer's mark.
    @usableFromInline
    internal var marks: ObserverMark {
        var marks: ObserverMark = contains(.prior) ? .receivesPrior : []
        if contains(.ofCombination) { marks.formUnion(.isCombined) }
        return marks
    }
}
