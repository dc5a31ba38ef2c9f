// SPDX-License-Identifier: Apache-2.0

/// The behaviour of a registry's count of observations.
enum RegistryCountSpecification: SequentialSpecification {
    enum Operation: Sendable, CustomStringConvertible {
        case observe(Int)
        case cancel(Int)
        case removeAll
        case count(Int)
        case isEmpty(Bool)

        var description: String {
            switch self {
            case .observe(let observer): "observe #\(observer)"
            case .cancel(let observer): "cancel #\(observer)"
            case .removeAll: "removeAll"
            case .count(let count): "count → \(count)"
            case .isEmpty(let isEmpty): "isEmpty → \(isEmpty)"
            }
        }
    }

    /// The live observations, with a bit for each.
    static var initial: UInt64 { 0 }

    static func state(after operation: Operation, in live: UInt64) -> UInt64? {
        switch operation {
        case .observe(let observer): live | 1 << UInt64(observer)
        case .cancel(let observer): live & ~(1 << UInt64(observer))
        case .removeAll: 0
        case .count(let count): count == live.nonzeroBitCount ? live : nil
        case .isEmpty(let isEmpty): isEmpty == (live == 0) ? live : nil
        }
    }

    static func isObservation(_ operation: Operation) -> Bool {
        switch operation {
        case .count, .isEmpty: true
        case .observe, .cancel, .removeAll: false
        }
    }
}

/// The behaviour of one observation: the answers of its token, and the effect of each notification
/// on it.
///
/// A notification is not one step for all observers, but it is one step for each of them: it
/// reaches the observer once, or not at all. (P1, P8)
enum ObservationSpecification: SequentialSpecification {
    enum Operation: Sendable, CustomStringConvertible {
        case observe
        case cancel
        case cancelAndWait
        case removeAll
        case isActive(Bool)
        case notify(calls: Int)

        var description: String {
            switch self {
            case .observe: "observe"
            case .cancel: "cancel"
            case .cancelAndWait: "cancelAndWait"
            case .removeAll: "removeAll"
            case .isActive(let isActive): "isActive → \(isActive)"
            case .notify(let calls): "notify called it \(calls) times"
            }
        }

        /// Whether this is an answer of the token.
        var isAnswer: Bool { if case .isActive = self { true } else { false } }
    }

    static var initial: Bool { false }

    static func state(after operation: Operation, in isActive: Bool) -> Bool? {
        switch operation {
        case .observe: true
        case .cancel, .cancelAndWait, .removeAll: false
        case .isActive(let answer): answer == isActive ? isActive : nil
        case .notify(let calls): calls == (isActive ? 1 : 0) ? isActive : nil
        }
    }

    static func isObservation(_ operation: Operation) -> Bool {
        switch operation {
        case .isActive, .notify: true
        case .observe, .cancel, .cancelAndWait, .removeAll: false
        }
    }
}

/// The operations of one thread on observations, and its observations that it has not ended.
class ObservationLog {
    var observations: [Int: [Interval<ObservationSpecification.Operation>]] = [:]
    var removals: [Interval<Void>] = []
    var tokens: [(observer: Int, token: ObservationToken)] = []

    /// Begins an observation, unless the thread has made all of its own.
    ///
    /// - Parameter observe: Begins the observation with this number.
    /// - Returns: The number of the observation, with the interval in which it began.
    @discardableResult
    func observe(_ thread: Int, _ index: Int, _ observe: (Int) -> ObservationToken) -> Interval<Int>? {
        let observer = thread * 8 + index % 8
        guard observations[observer] == nil else { return nil }
        let made = timed(thread) { observe(observer) }
        tokens.append((observer, made.operation))
        observations[observer] = [made.map { _ in .observe }]
        return made.map { _ in observer }
    }

    /// Asks the last token whether its observation is active.
    func askLast(_ thread: Int) {
        guard let (observer, token) = tokens.last else { return }
        observations[observer]!.append(timed(thread) { .isActive(token.isActive) })
    }
}

/// Threads that observe one registry, end observations, notify and count.
final class RegistryTrial: HistoryTrial, @unchecked Sendable {
    // Unchecked: each thread's log is read when all threads have finished their steps.
    private let registry = ObserverRegistry<Notification>()
    private let logs: [Log]

    /// The calls of one notification. Callbacks run only on the notifying thread.
    private final class Notification: @unchecked Sendable {
        var calls: [Int: Int] = [:]
    }

    private final class Log: ObservationLog {
        var counts: [Interval<RegistryCountSpecification.Operation>] = []
        var notifications: [Interval<Notification>] = []
    }

    init(threads: Int) { logs = (0..<threads).map { _ in Log() } }

    func step(_ thread: Int, _ index: Int, _ generator: inout Generator) {
        let log = logs[thread]
        switch generator.below(16) {
        case 0..<4: observe(thread, index, log)
        case 4..<7: end(thread, log, &generator)
        case 7..<11:
            let notification = Notification()
            log.notifications.append(
                timed(thread) {
                    registry.notify(notification); return notification
                }
            )
        case 11..<13:
            log.counts.append(timed(thread) { .count(registry.observationCount) })
        case 13:
            log.counts.append(timed(thread) { .isEmpty(registry.observationCount == 0) })
        case 14:
            log.askLast(thread)
        default:
            log.removals.append(timed(thread) { registry.cancelAllObservations() })
        }
    }

    private func observe(_ thread: Int, _ index: Int, _ log: Log) {
        let made = log.observe(thread, index) { observer in
            registry.observe { $0.calls[observer, default: 0] += 1 }
        }
        if let made { log.counts.append(made.map { .observe($0) }) }
    }

    private func end(_ thread: Int, _ log: Log, _ generator: inout Generator) {
        guard !log.tokens.isEmpty else { return }
        let (observer, token) = log.tokens.remove(at: generator.below(log.tokens.count))
        let waits = generator.oneIn(4)
        let ended = timed(thread) { if waits { _ = token.cancelAndWaitBlocking() } else { token.cancel() } }
        log.counts.append(ended.map { .cancel(observer) })
        log.observations[observer]!.append(ended.map { waits ? .cancelAndWait : .cancel })
    }

    func judge() -> HistoryVerdict {
        var verdict = HistoryVerdict()
        let removals = logs.flatMap(\.removals)
        verdict.add(
            logs.flatMap(\.counts) + removals.map { $0.map { .removeAll } },
            of: "the registry's figures",
            as: RegistryCountSpecification.self
        )
        let notifications = logs.flatMap(\.notifications)
        for (observer, own) in logs.flatMap(\.observations) {
            let ends = removals.map { $0.map { ObservationSpecification.Operation.removeAll } }
            let calls = notifications.map { notification in
                notification.map { ObservationSpecification.Operation.notify(calls: $0.calls[observer] ?? 0) }
            }
            // These are judged separately: while another thread ends an observation, `isActive` may
            // change before or after the last delivery. (P8)
            let (answers, own) = (own.filter(\.operation.isAnswer), own.filter { !$0.operation.isAnswer })
            verdict.add(own + ends + calls, of: "observer #\(observer)", as: ObservationSpecification.self)
            verdict.add(own + ends + answers, of: "token #\(observer)", as: ObservationSpecification.self)
        }
        return verdict
    }
}
