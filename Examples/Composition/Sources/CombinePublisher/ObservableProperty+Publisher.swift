// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
// OpenCombine was written before Swift's check of data races. What is passed between threads here
// is a subject, which has a lock of its own.
@preconcurrency import OpenCombine

extension ObservableProperty {
    /// A publisher of the present value and of all that follow, for each subscriber.
    ///
    /// A subscriber receives one value at a time, in the order of the changes. One that asks for
    /// few values receives the latest when it asks again, as with every `CurrentValueSubject`.
    /// The subscription ends with `.finished` when the property's source is gone. The publisher
    /// retains the source, a subscription does not.
    func publisher() -> AnyPublisher<Value, Never> {
        Deferred {
            // Nil until the initial value arrives, which no change can be missed before.
            let subject = CurrentValueSubject<Value?, Never>(nil)
            let token = self.observe(options: .initial, delivery: .serial()) { change in subject.send(change.new) }
            token.onEnd { end in if end == .sourceDeleted { subject.send(completion: .finished) } }
            // The subscription keeps the token, and its end cancels the observation.
            return subject.compactMap(\.self).handleEvents(receiveCancel: { token.cancel() })
        }.eraseToAnyPublisher()
    }
}
