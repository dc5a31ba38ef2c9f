// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization
import Testing

/// The way in which the last derived value of a case is used: it is read after each step, or also
/// observed.
enum GraphUse: String, CaseIterable, Sendable { case read, observed }

/// Derived values whose runs are counted, and the changes that the observer of the last one
/// received.
final class DerivedGraph: Sendable {
    let use: GraphUse
    private let log = Log<String>()
    private let taken = Mutex<(runs: Int, received: Int)>((0, 0))
    private let received = Log<String>()
    private let tokens = Mutex<[ObservationToken]>([])

    init(_ use: GraphUse) { self.use = use }

    /// Makes a derived value whose runs are recorded under a name.
    func derived<Value: Sendable & Equatable>(
        _ name: String,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) -> Derived<Value> {
        Derived { [log] get in
            log.append(name)
            return compute(get)
        }
    }

    /// Makes a derived value whose results cannot be compared.
    func incomparable<Value: Sendable>(
        _ name: String,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) -> Derived<Value> {
        Derived { [log] get in
            log.append(name)
            return compute(get)
        }
    }

    /// Makes a derived value that can fail.
    func failing<Value: Sendable & Equatable>(
        _ name: String,
        _ compute: @escaping @Sendable (borrowing Reader) throws(Mishap) -> Value
    ) -> Derived<Result<Value, Mishap>> {
        Derived(throwing: { [log] get throws(Mishap) in
            log.append(name)
            return try compute(get)
        })
    }

    /// Begins a case with these derived values as the last ones. Reads them first, so their first
    /// runs are not counted.
    func begin<Value>(_ last: Derived<Value>...) {
        for derived in last {
            _ = derived.value
            if use == .observed { observe(derived) }
        }
        forget()
    }

    func observe<Value>(_ derived: some ObservableProperty<Value>) {
        let token = derived.observe { [received] (change: Change<Value>) in received.append("\(change.new)") }
        tokens.withLock { $0.append(token) }
    }

    /// Ends the observations.
    func end() { tokens.withLock { $0 }.forEach { $0.cancel() } }

    /// The functions that have run since the last call, sorted by name.
    var runs: String {
        let entries = log.entries
        let before = taken.withLock { taken in
            defer { taken.runs = entries.count }
            return taken.runs
        }
        return entries[before...].sorted().joined(separator: " ")
    }

    /// The functions in the order in which they have run.
    var order: String {
        let entries = log.entries
        let before = taken.withLock { $0.runs }
        return entries[before...].joined(separator: " ")
    }

    /// The changes that the observer has received since the last call.
    var news: String {
        let entries = received.entries
        let before = taken.withLock { taken in
            defer { taken.received = entries.count }
            return taken.received
        }
        return entries[before...].joined(separator: " ")
    }

    func forget() { _ = (runs, news) }

    /// Expects that after the last step `derived` has this value, that these functions have run,
    /// and that the observer has received this.
    func expect<Value: Equatable>(
        _ derived: Derived<Value>,
        _ value: Value,
        _ runs: String,
        _ news: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(derived.value == value, sourceLocation: sourceLocation)
        #expect(self.runs == runs, sourceLocation: sourceLocation)
        guard use == .observed else { return }
        #expect(self.news == news ?? "\(value)", sourceLocation: sourceLocation)
    }
}

/// An error of the tests.
enum Mishap: Error, Equatable { case zero, negative }

extension Promises {
    /// Cases from the public test suites of reactive libraries, in our terms. Each has its number.
    /// If the suites disagree, we have chosen the outcome.
    @Suite("Derived values: cases of reactive suites")
    struct DerivedCases {}
}
