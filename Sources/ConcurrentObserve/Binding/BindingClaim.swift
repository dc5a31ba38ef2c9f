// SPDX-License-Identifier: Apache-2.0

/// What a binding knows when it has made a value for its destination: whether it applies that is decided under the destination's lock.
@usableFromInline
internal protocol BindingClaim {
    /// Whether the destination takes the value. Under the lock that its changes take; once. No user code. (P5)
    ///
    /// - Parameter present: The destination's version.
    func holds(at present: UInt64) -> Bool

    /// Whether claims of several destinations are decided in one step: both sides of a pair make them.
    static var isOfPair: Bool { get }

    /// Whether it is of a change from the second side of a pair to the first.
    var goesBack: Bool { get }
}

extension OneWayBinding {
    @usableFromInline @safe
    struct Claim: BindingClaim {
        // Safe: a frame has the observer as current, whose closure keeps the binding.
        @usableFromInline let binding: Unmanaged<OneWayBinding>
        @usableFromInline let version: UInt64
        /// The address of the observer.
        @usableFromInline let observer: UInt
        /// The version at which the destination must still be, if the change comes round a cycle.
        @usableFromInline let since: UInt64?

        @inlinable
        init(_ binding: OneWayBinding, _ version: UInt64, by observer: UInt, since: UInt64?) {
            // Safe: as above.
            unsafe self.binding = Unmanaged.passUnretained(binding)
            (self.version, self.observer, self.since) = (version, observer, since)
        }

        @inlinable static var isOfPair: Bool { false }
        @inlinable var goesBack: Bool { false }

        @inlinable
        func holds(at present: UInt64) -> Bool {
            // Safe: as above. No count is touched: under the lock others wait.
            unsafe binding._withUnsafeGuaranteedRef { binding in
                guard binding.arrive(version, by: observer) else { return false }
                guard let since else { return true }
                return binding.isStill(since, present)
            }
        }
    }
}

/// That of a two-way binding.
@usableFromInline
internal struct TwoWayClaim: BindingClaim {
    @usableFromInline let agreement: Agreement
    @usableFromInline let side: Agreement.Side
    @usableFromInline let version: UInt64
    @usableFromInline let since: UInt64?
    @usableFromInline let isInitial: Bool

    @inlinable
    init(_ agreement: Agreement, _ version: UInt64, of side: Agreement.Side, since: UInt64?, isInitial: Bool) {
        (self.agreement, self.side, self.version) = (agreement, side, version)
        (self.since, self.isInitial) = (since, isInitial)
    }

    @inlinable static var isOfPair: Bool { true }
    @inlinable var goesBack: Bool { side == .second }

    @inlinable
    func holds(at present: UInt64) -> Bool {
        // What the other side has agreed upon was made of an earlier change of this one: it may be
        // replaced, also if it has come since.
        if let since, present != since, agreement.isNews(present, of: side.other) {
            agreement.note(version, of: side, as: since)
            return false
        }
        return agreement.apply(version, of: side, toOtherAt: present, isInitial: isInitial)
    }
}
