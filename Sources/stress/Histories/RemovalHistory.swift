// SPDX-License-Identifier: Apache-2.0

/// Threads that observe one property in several ways, and remove all of its observations, or all
/// observations of an owner. The answers of the tokens are judged. (P8)
final class RemovalTrial: HistoryTrial, @unchecked Sendable {
    // Unchecked: each thread's log is read when all threads have finished their steps.
    private let property = Observed(0)
    private let other = Observed(0)
    private let owner = Owner()
    private let logs: [Log]

    private final class Owner: Sendable {}

    private final class Log {
        var removals: [Interval<Void>] = []
        var tokens: [(observer: Int, token: ObservationToken)] = []
        var observations: [Int: [Interval<ObservationSpecification.Operation>]] = [:]
    }

    init(threads: Int) { logs = (0..<threads).map { _ in Log() } }

    func step(_ thread: Int, _ index: Int, _ generator: inout Generator) {
        let log = logs[thread]
        switch generator.below(8) {
        case 0..<3: observe(thread, index, log, &generator)
        case 3: log.removals.append(timed(thread) { property.cancelAllObservations() })
        case 4: log.removals.append(timed(thread) { property.cancelAllObservations(ownedBy: owner) })
        default:
            guard let (observer, token) = log.tokens.last else { return }
            log.observations[observer]!.append(timed(thread) { .isActive(token.isActive) })
        }
    }

    private func observe(_ thread: Int, _ index: Int, _ log: Log, _ generator: inout Generator) {
        let observer = thread * 8 + index % 8
        guard log.observations[observer] == nil else { return }
        let way = generator.below(3)
        let made = timed(thread) {
            switch way {
            case 0: property.observe(owner: owner) { _, _ in }
            case 1: property.observe(owner: owner, delivery: .serial()) { _, _ in }
            default: Group(property, other).observe(owner: owner) { _, _ in }
            }
        }
        log.tokens.append((observer, made.operation))
        log.observations[observer] = [made.map { _ in .observe }]
    }

    func judge() -> HistoryVerdict {
        var verdict = HistoryVerdict()
        let removals = logs.flatMap(\.removals).map { $0.map { ObservationSpecification.Operation.removeAll } }
        for (observer, own) in logs.flatMap(\.observations) {
            verdict.add(own + removals, of: "token #\(observer)", as: ObservationSpecification.self)
        }
        return verdict
    }
}
