// SPDX-License-Identifier: Apache-2.0

/// The behaviour of a property with a value and a version.
enum PropertySpecification: SequentialSpecification {
    struct State: Hashable, Sendable {
        var value: UInt64
        var version: UInt64
    }

    enum Operation: Sendable, CustomStringConvertible {
        case read(UInt64)
        case borrow(UInt64)
        case snapshot(value: UInt64, version: UInt64)
        case version(UInt64)
        case set(UInt64)
        case exchange(UInt64, old: UInt64)
        case modify(adding: UInt64, old: UInt64)
        case compareExchange(expected: UInt64, desired: UInt64, exchanged: Bool, original: UInt64)

        var description: String {
            switch self {
            case .read(let value): "value → \(value)"
            case .borrow(let value): "withValue → \(value)"
            case .snapshot(let value, let version): "snapshot → \(value), version \(version)"
            case .version(let version): "version → \(version)"
            case .set(let value): "value = \(value)"
            case .exchange(let value, let old): "exchange(\(value)) → \(old)"
            case .modify(let step, let old): "modify { $0 += \(step) } saw \(old)"
            case .compareExchange(let expected, let desired, let exchanged, let original):
                "compareExchange(\(expected), \(desired)) → \(exchanged), \(original)"
            }
        }
    }

    static var initial: State { State(value: 0, version: 0) }

    static func state(after operation: Operation, in state: State) -> State? {
        switch operation {
        case .read(let value), .borrow(let value): value == state.value ? state : nil
        case .snapshot(let value, let version): State(value: value, version: version) == state ? state : nil
        case .version(let version): version == state.version ? state : nil
        case .set(let value): state.changed(to: value)
        case .exchange(let value, let old): old == state.value ? state.changed(to: value) : nil
        case .modify(let step, let old): old == state.value ? state.changed(to: old &+ step) : nil
        case .compareExchange(let expected, let desired, let exchanged, let original):
            if original != state.value || exchanged != (expected == state.value) {
                nil
            } else {
                exchanged ? state.changed(to: desired) : state
            }
        }
    }

    static func isObservation(_ operation: Operation) -> Bool {
        switch operation {
        case .read, .borrow, .snapshot, .version, .compareExchange(_, _, exchanged: false, _): true
        case .set, .exchange, .modify, .compareExchange: false
        }
    }
}

extension PropertySpecification.State {
    fileprivate func changed(to value: UInt64) -> Self { Self(value: value, version: version &+ 1) }
}

/// A value that represents a number. It is stored in the property itself, or in a box.
protocol HistoryValue: Equatable, Sendable {
    init(historyNumber number: UInt64)
    var historyNumber: UInt64 { get }
}

extension UInt64: HistoryValue {
    init(historyNumber number: UInt64) { self = number }
    var historyNumber: UInt64 { self }
}

/// A value that is stored in a box. It shows whether it is a mixture of two values.
struct WideValue: HistoryValue {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    init(historyNumber number: UInt64) { words = (number, ~number, number, ~number) }

    /// The number. If the words do not belong together, it is a number that no thread has set.
    var historyNumber: UInt64 {
        words.0 == words.2 && words.1 == words.3 && words.0 == ~words.1 ? words.0 : .max
    }

    static func == (left: WideValue, right: WideValue) -> Bool { left.historyNumber == right.historyNumber }
}

/// Threads that read and change two properties.
final class PropertyTrial<Value: HistoryValue>: HistoryTrial, @unchecked Sendable {
    // Unchecked: each thread's log is read when all threads have finished their steps.
    private let properties = [Observed(Value(historyNumber: 0)), Observed(Value(historyNumber: 0))]
    private let logs: [Log]

    /// The operations of one thread, and the values that it has read last. It compares with these
    /// values, so that some exchanges succeed.
    private final class Log {
        var histories: [[Interval<PropertySpecification.Operation>]] = [[], []]
        var lastSeen: [UInt64] = [0, 0]
    }

    init(threads: Int) { logs = (0..<threads).map { _ in Log() } }

    func step(_ thread: Int, _ index: Int, _ generator: inout Generator) {
        let choice = generator.below(2)
        let property = properties[choice]
        // Each number is unique, so every result shows from which change it comes.
        let unique = UInt64(thread + 1) * 1_000 + UInt64(index)
        let log = logs[thread]
        let expected = log.lastSeen[choice]
        let kind = generator.below(8)
        let start = nanoseconds()
        let operation = Self.perform(kind, on: property, unique, expected)
        let end = nanoseconds()
        log.histories[choice].append(Interval(thread: thread, start: start, end: end, operation: operation))
        log.lastSeen[choice] = operation.seen
    }

    private static func perform(
        _ kind: Int,
        on property: Observed<Value>,
        _ unique: UInt64,
        _ expected: UInt64
    ) -> PropertySpecification.Operation {
        switch kind {
        case 0: return .read(property.value.historyNumber)
        case 1: return .borrow(property.withValue { $0.historyNumber })
        case 2:
            let (value, version) = property.snapshot()
            return .snapshot(value: value.historyNumber, version: version)
        case 3: return .version(property.version)
        case 4:
            property.value = Value(historyNumber: unique)
            return .set(unique)
        case 5: return .exchange(unique, old: property.exchange(Value(historyNumber: unique)).historyNumber)
        case 6:
            let old = property.modify { value in
                defer { value = Value(historyNumber: value.historyNumber &+ 1_000_000) }
                return value.historyNumber
            }
            return .modify(adding: 1_000_000, old: old)
        default:
            let (exchanged, original) = property.compareExchange(
                expected: Value(historyNumber: expected),
                desired: Value(historyNumber: unique)
            )
            return .compareExchange(
                expected: expected,
                desired: unique,
                exchanged: exchanged,
                original: original.historyNumber
            )
        }
    }

    func judge() -> HistoryVerdict {
        var verdict = HistoryVerdict()
        for index in properties.indices {
            verdict.add(
                logs.flatMap { $0.histories[index] },
                of: "property \(index)",
                as: PropertySpecification.self
            )
        }
        return verdict
    }
}

extension PropertySpecification.Operation {
    /// The value that the property had, or received.
    fileprivate var seen: UInt64 {
        switch self {
        case .read(let value), .borrow(let value), .snapshot(let value, _), .set(let value), .exchange(let value, _):
            value
        case .version: 0
        case .modify(let step, let old): old &+ step
        case .compareExchange(_, let desired, let exchanged, let original): exchanged ? desired : original
        }
    }
}
