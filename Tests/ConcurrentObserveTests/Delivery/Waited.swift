// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting

/// A task that waits for a number, and records the numbers for which the predicate was called.
final class Waited: Sendable {
    enum Outcome: Sendable, Equatable {
        case value(Int)
        /// The time ran out. It has the last value.
        case timeout(Int?)
        case cancelled
        case ended(ObservationEnd)
        case refused
    }

    /// An error that a predicate throws.
    struct Refusal: Error {}

    private let log: Log<Int>
    private let task: Task<Outcome, Never>

    var asked: [Int] { log.entries }
    var outcome: Outcome { get async { await task.value } }

    func cancel() { task.cancel() }

    /// Waits until the predicate was called this number of times.
    func isAsked(_ count: Int) async throws { try await eventuallyAsync("question \(count)") { log.count >= count } }

    /// Begins to wait.
    ///
    /// - Parameter wait: Passes its parameter to `first`. The parameter throws for a negative
    ///   number.
    init(for number: Int, _ wait: @escaping @Sendable ((Int) throws -> Bool) async throws -> Int) {
        let log = Log<Int>()
        self.log = log
        task = Task.detached { await Self.outcome(of: wait, log, for: number) }
    }

    private static func outcome(
        of wait: ((Int) throws -> Bool) async throws -> Int,
        _ log: Log<Int>,
        for number: Int
    ) async -> Outcome {
        do {
            return .value(
                try await wait { asked in
                    log.append(asked)
                    if asked < 0 { throw Refusal() }
                    return asked == number
                }
            )
        } catch let error as ObservationTimeout<Int> {
            return .timeout(error.lastValue)
        } catch let error as ObservationEnd {
            return .ended(error)
        } catch is CancellationError {
            return .cancelled
        } catch {
            return .refused
        }
    }
}

extension Waited {
    /// Begins to wait for a number of a stage. The task does not retain the stage's source.
    convenience init(
        for number: Int,
        of stage: Stage,
        timeout: Duration? = nil,
        clock: ManualClock = ManualClock(),
        _ ask: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.init(for: number) { judge in
            let accepts: (Int) throws -> Bool = { number in
                ask(number)
                return try judge(number)
            }
            // The only reference is passed on.
            return switch (stage.origin, timeout) {
            case (.property, nil): try await stage.property.value!.first(where: accepts)
            case (.property, let timeout?):
                try await stage.property.value!.first(timeout: timeout, clock: clock, where: accepts)
            case (.path, nil): try await stage.car.value!.property(\.axle.wheel.pressure).first(where: accepts)
            case (.path, let timeout?):
                try await stage.car.value!.property(\.axle.wheel.pressure)
                    .first(timeout: timeout, clock: clock, where: accepts)
            case (.registry, nil): try await stage.registry.value!.first(where: accepts)
            case (.registry, let timeout?):
                try await stage.registry.value!.first(timeout: timeout, clock: clock, where: accepts)
            }
        }
    }

    /// Waits until the task observes the stage. If there is a present number, the predicate was
    /// called for it.
    func begins(_ stage: Stage) async throws {
        if stage.origin == .registry {
            try await eventuallyAsync("the observation") { stage.observationCount == 1 }
        } else {
            try await isAsked(1)
        }
    }
}

/// Waits for a number of any source.
struct WaitingUse: ObservableUse {
    let number: Int
    /// The time limit; nil for none.
    let timeout: Duration?
    let waited = Slot<Waited>()

    func observe<Property: ObservableProperty>(
        _ property: Property,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> ObservationToken {
        let timeout = timeout
        waited.put(
            Waited(for: self.number) { accepts in
                let found =
                    if let timeout {
                        try await property.first(timeout: timeout) { try accepts(number($0)) }
                    } else {
                        try await property.first { try accepts(number($0)) }
                    }
                return number(found)
            }
        )
        return Observed(0).observe { (_: Change<Int>) in }
    }

    func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken {
        let timeout = timeout
        waited.put(
            Waited(for: number) { accepts in
                guard let timeout else { return try await registry.first(where: accepts) }
                return try await registry.first(timeout: timeout, where: accepts)
            }
        )
        return Observed(0).observe { (_: Change<Int>) in }
    }
}
