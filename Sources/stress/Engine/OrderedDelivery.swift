// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// A kind of ordered delivery, which also shows whether a callback runs in the right place.
enum OrderedDelivery: Sendable {
    case stage(Stage)
    case actor(Listener)
    /// A closure that declares its isolation itself.
    case isolated
    case serial
    case queue(DispatchQueue)
    case globalQueue

    /// A change as it reaches a callback.
    struct Arrival<Value: Sendable> {
        let change: Change<Value>
        /// Whether the callback runs in the right place, if this can be asked. If not, a callback
        /// in another place stops the process.
        var isThere = true
        /// The handle of the observation, if the callback receives it.
        var handle: ObservationHandle?
    }

    /// Observes a source. Any thread.
    ///
    /// - Parameter handsOut: Whether a callback with `.serial` or on a queue receives the
    ///   observation's handle.
    func observe<Source: ObservableProperty>(
        _ source: Source,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        handsOut: Bool = false,
        _ body: @escaping @Sendable (Arrival<Source.Value>) -> Void
    ) -> ObservationToken {
        switch self {
        case .stage(let stage):
            source.observe(on: stage, options: options, buffering: buffering) {
                body(Arrival(change: $1, isThere: $0.isCurrent))
            }
        case .actor(let listener):
            source.observe(on: listener, options: options, buffering: buffering) {
                $0.preconditionIsolated()
                body(Arrival(change: $1))
            }
        case .isolated:
            source.observeIsolated(options: options, buffering: buffering) { @GlobalListener in
                GlobalListener.shared.preconditionIsolated()
                body(Arrival(change: $0))
            }
        case .serial:
            Self.observe(source, options, .serial(buffering: buffering), handsOut, body)
        case .queue(let queue):
            Self.observe(source, options, .queue(queue, buffering: buffering), handsOut) {
                dispatchPrecondition(condition: .onQueue(queue))
                body($0)
            }
        case .globalQueue:
            Self.observe(source, options, .queue(.global(), buffering: buffering), handsOut, body)
        }
    }

    private static func observe<Source: ObservableProperty>(
        _ source: Source,
        _ options: ObservationOptions,
        _ delivery: Delivery,
        _ handsOut: Bool,
        _ body: @escaping @Sendable (Arrival<Source.Value>) -> Void
    ) -> ObservationToken {
        handsOut
            ? source.observe(options: options, delivery: delivery) { body(Arrival(change: $0, handle: $1)) }
            : source.observe(options: options, delivery: delivery) { body(Arrival(change: $0)) }
    }
}

/// An observer with an ordered delivery: its token, and the witness that checks the changes it
/// receives.
struct Follower: Sendable {
    let witness: OrderedWitness
    let token: ObservationToken

    /// The counts exist, because the delivery is not inline.
    var counts: DeliveryCounts { token.deliveryCounts! }

    init(_ witness: OrderedWitness, _ token: ObservationToken) {
        (self.witness, self.token) = (witness, token)
        witness.listen(to: token)
    }

    /// Waits at rest until every event is received or dropped.
    @discardableResult
    func settle(_ round: Round) -> DeliveryCounts { witness.settle(round) { counts } }

    /// Whether every event that was sent is received or dropped, and every callback has returned.
    var isSettled: Bool {
        let counts = counts
        return counts.pending == 0 && witness.count == counts.received
    }

    /// Checks that the observer has received the end of its source, which is gone.
    ///
    /// - Parameter isMortal: Whether the observation may have ended before, for another reason.
    func checkEnd(_ round: Round, isMortal: Bool = false) {
        round.wait(for: "P12.end-delivered", "\(witness.name) has not received its source's end") {
            !token.isActive && (isMortal || witness.hasReceivedEnd) && counts.pending == 0
        }
        token.cancel()
    }
}

/// A value with a number that no other value of the scenario has.
protocol Distinct: Sendable { var serial: UInt64 { get } }

extension UInt64: Distinct { var serial: UInt64 { self } }
extension TrackedValue: Distinct {}
/// A path that leads nowhere has the number 0.
extension UInt64?: Distinct { var serial: UInt64 { self ?? 0 } }
