// SPDX-License-Identifier: Apache-2.0

/// Threads that observe one property in several ways, and remove all of its observations, or all
/// observations of an owner. The answers of the tokens are judged. (P8)
final class RemovalTrial: HistoryTrial, @unchecked Sendable {
    // Unchecked: each thread's log is read when all threads have finished their steps.
    private let property = Observed(0)
    private let other = Observed(0)
    private let owner = Owner()
    private let logs: [ObservationLog]

    private final class Owner: Sendable {}

    init(threads: Int) { logs = (0..<threads).map { _ in ObservationLog() } }

    func step(_ thread: Int, _ index: Int, _ generator: inout Generator) {
        let log = logs[thread]
        switch generator.below(8) {
        case 0..<3:
            let way = generator.below(3)
            log.observe(thread, index) { _ in
                switch way {
                case 0: property.observe(owner: owner) { _, _ in }
                case 1: property.observe(owner: owner, delivery: .serial()) { _, _ in }
                default: Group(property, other).observe(owner: owner) { _, _ in }
                }
            }
        case 3: log.removals.append(timed(thread) { property.cancelAllObservations() })
        case 4: log.removals.append(timed(thread) { property.cancelAllObservations(ownedBy: owner) })
        default: log.askLast(thread)
        }
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
