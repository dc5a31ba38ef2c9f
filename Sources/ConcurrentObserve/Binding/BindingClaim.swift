// SPDX-License-Identifier: Apache-2.0

/// Decides whether a binding may still set its destination to the value that it has made. The
/// decision is made under the destination's mutation lock.
@usableFromInline
internal protocol BindingClaim {
    /// Whether the destination takes the value. Called once; the caller must hold the destination's
    /// mutation lock. Runs no user code. (P5)
    ///
    /// - Parameter present: The destination's version.
    func holds(at present: UInt64) -> Bool

    /// Whether the binding is two-way. A commit decides the claims of such bindings in one step.
    static var isOfPair: Bool { get }

    /// Whether the change goes from the second side of a pair to the first.
    var goesBack: Bool { get }
}

extension OneWayBinding {
    @usableFromInline @safe
    struct Claim: BindingClaim {
        // Safe: a frame has the observer as current, so its closure lives, and keeps the binding.
        @usableFromInline let binding: Unmanaged<OneWayBinding>
        @usableFromInline let version: UInt64
        /// The address of the binding's observer.
        @usableFromInline let observer: UInt
        /// If the change comes round a cycle: the version at which the destination must still be.
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
            // Safe: as above. No reference is counted, since other threads wait for the lock.
            unsafe binding._withUnsafeGuaranteedRef { binding in
                guard binding.arrive(version, by: observer) else { return false }
                guard let since else { return true }
                return binding.isStill(since, present)
            }
        }
    }
}

/// The claim of a two-way binding.
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
        // The destination has changed since. If the pair has not agreed on its present version,
        // that stays. If the pair has agreed on it, it was made from an earlier change of this
        // side, and may be replaced.
        if let since, present != since, agreement.isNews(present, of: side.other) {
            agreement.note(version, of: side, as: since)
            return false
        }
        return agreement.apply(version, of: side, toOtherAt: present, isInitial: isInitial)
    }
}
