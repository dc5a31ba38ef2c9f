// SPDX-License-Identifier: Apache-2.0

/// Makes the observation of a closure that is not called inline.
@usableFromInline
internal final class OrderedFactory<Value: Sendable>: ChangeReceiverFactory<Value>, @unchecked Sendable {
    // Unchecked: constants only.
    private let delivery: Delivery
    private let owner: WeakReference?
    private let form: CallbackForm<Change<Value>>

    @inlinable
    convenience init(_ delivery: Delivery, owner: WeakReference?, _ form: CallbackForm<Change<Value>>) {
        self.init(delivery, owner: owner, form) {
            delivery.makeObservation(owner: owner, form).receiver()
        }
    }

    @usableFromInline
    init(
        _ delivery: Delivery,
        owner: WeakReference?,
        _ form: CallbackForm<Change<Value>>,
        _ make: @escaping @Sendable () -> ChangeReceiver<Value>
    ) {
        (self.delivery, self.owner, self.form) = (delivery, owner, form)
        super.init(make)
    }

    @usableFromInline
    override func pulledBack<Other: Sendable>(
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        OrderedFactory<Other>(delivery, owner: owner, form.pulledBack(transform))
    }
}

extension OrderedObservation {
    /// Whether waking the mailbox begins the delivery. A serial one comes after the inline callbacks:
    /// `drain` begins it. (P1)
    @usableFromInline
    final var beginsWhenWoken: Bool {
        #if INSTRUMENTED
        if mutant(.aSerialDeliveryComesFirst) { return true }
        #endif
        return !isSerial
    }

    /// The observation, as the source knows it. Made where the event's type is known.
    @inlinable
    final func receiver() -> EventReceiver<Event> {
        let wake: @Sendable () -> Void = if beginsWhenWoken { { self.wake() } } else { {} }
        return EventReceiver(
            enqueue: { event in self.enqueue(event) },
            wake: wake,
            drain: { self.drain() },
            join: { sourceObserver in self.join(sourceObserver) },
            hasJoined: { self.hasJoined() }
        )
    }
}
