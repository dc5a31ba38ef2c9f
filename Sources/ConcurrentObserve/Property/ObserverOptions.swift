// SPDX-License-Identifier: Apache-2.0

/// What an observer receives, and what the library needs to know about it.
///
/// No raw value of `ObservationOptions` reaches the bits that are the library's.
@usableFromInline
internal struct ObserverOptions: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt8

    // Transparent, and computed below: constants in debug builds, too, and nothing that is made on first use. (P18)
    @_transparent @usableFromInline
    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The options that a user has given.
    @inlinable
    init(_ options: ObservationOptions) {
        self.init(rawValue: options.rawValue & (ObserverOptions.initial.rawValue | ObserverOptions.prior.rawValue))
    }

    @inlinable static var initial: ObserverOptions { ObserverOptions(rawValue: 1) }
    @inlinable static var prior: ObserverOptions { ObserverOptions(rawValue: 2) }

    /// The observer is one of several properties that are observed together: a commit calls it under the property's lock as well.
    /// Its closure is the library's, and runs no user code there. (P21)
    static var ofCombination: ObserverOptions { ObserverOptions(rawValue: 64) }

    /// The observer is a binding: a path delivers with each change which versions it shows, and what the bindings make of a commit is
    /// a commit. (P21)
    @inlinable static var ofBinding: ObserverOptions { ObserverOptions(rawValue: 128) }
}

extension ObserverOptions {
    /// The options as bits of an observer's mark.
    @usableFromInline
    internal var marks: ObserverMark {
        var marks: ObserverMark = contains(.prior) ? .receivesPrior : []
        if contains(.ofCombination) { marks.formUnion(.isCombined) }
        if contains(.ofBinding) { marks.formUnion(.isOfBinding) }
        return marks
    }
}
