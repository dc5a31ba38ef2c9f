// SPDX-License-Identifier: Apache-2.0

/// Makes the mailbox for a closure that is not called inline.
@usableFromInline
internal final class OrderedFactory<Value: Sendable>: ChangeReceiverFactory<Value>, @unchecked Sendable {
    // Unchecked: constants only.
    private let delivery: Delivery
    private let owner: WeakReference?
    private let form: CallbackForm<Change<Value>>
    /// Whether the values of a change are compared before the closure is called.
    private let isComparing: Bool

    @inlinable
    convenience init(
        of original: AttachmentClaim? = nil,
        _ delivery: Delivery,
        owner: WeakReference?,
        isComparing: Bool = false,
        _ form: CallbackForm<Change<Value>>
    ) {
        self.init(of: original, delivery, owner: owner, isComparing: isComparing, form) {
            delivery.makeObservation(owner: owner, form, .ofChanges(areCompared: isComparing)).receiver()
        }
    }

    @usableFromInline
    init(
        of original: AttachmentClaim? = nil,
        _ delivery: Delivery,
        owner: WeakReference?,
        isComparing: Bool,
        _ form: CallbackForm<Change<Value>>,
        _ make: @escaping @Sendable () -> ChangeReceiver<Value>
    ) {
        (self.delivery, self.owner, self.isComparing, self.form) = (delivery, owner, isComparing, form)
        super.init(of: original, mayDrop: delivery.mayDrop, make)
    }

    @usableFromInline
    override func pulledBack<Other: Sendable>(
        isComparing: Bool,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        OrderedFactory<Other>(
            of: claimed,
            delivery,
            owner: owner,
            isComparing: isComparing || self.isComparing,
            form.pulledBack(transform)
        )
    }
}
