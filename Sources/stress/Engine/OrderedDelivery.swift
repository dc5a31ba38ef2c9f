// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// A kind of ordered delivery, which also shows whether a callback runs in the right place.
enum OrderedDelivery: Sendable {
    case stage(Stage)
    case actor(Listener)
    /// The library's own serialising actor.
    case observationActor(ObservationActor)
    /// A closure in the code of an actor. The closure does not use the actor.
    case codeOf(Stage)
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
        case .observationActor(let actor):
            source.observe(options: options, delivery: .actor(actor, buffering: buffering)) { [weak actor] in
                actor?.preconditionIsolated()
                body(Arrival(change: $0))
            }
        case .codeOf(let stage):
            AwaitedTask { await stage.observe(source, options, buffering, body) }.result()
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

extension OrderedDelivery {
    /// Observes a source, and checks the changes as they arrive, and whether the callback runs in
    /// the right place. Any thread.
    ///
    /// - Parameters:
    ///   - name: The observer's name in messages.
    ///   - body: The rest of the callback.
    func follow<Source: ObservableProperty>(
        _ source: Source,
        _ name: String,
        _ round: Round,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (Change<Source.Value>, OrderedWitness) -> Void = { _, _ in }
    ) -> Follower where Source.Value: Distinct {
        let witness = OrderedWitness(name, round, buffering, beginsWithInitial: options.contains(.initial))
        let token = observe(source, options: options, buffering: buffering) { arrival in
            witness.check(arrival.isThere, "P2.isolated", "called elsewhere")
            witness.receive(arrival.change) { body(arrival.change, witness) }
        }
        return Follower(witness, token)
    }
}

extension Stage {
    fileprivate func observe<Source: ObservableProperty>(
        _ source: Source,
        _ options: ObservationOptions,
        _ buffering: Buffering,
        _ body: @escaping @Sendable (OrderedDelivery.Arrival<Source.Value>) -> Void
    ) -> ObservationToken {
        source.observeIsolated(options: options, buffering: buffering) { [executor] change in
            body(OrderedDelivery.Arrival(change: change, isThere: executor.isCurrent))
        }
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
