// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization
import Testing

/// How the last derived value of a case is used: read after each step, or observed as well.
enum GraphUse: String, CaseIterable, Sendable { case read, observed }

/// Derived values whose runs are counted, and what the observer of the last one received.
final class DerivedGraph: Sendable {
    let use: GraphUse
    private let log = Log<String>()
    private let taken = Mutex<(runs: Int, received: Int)>((0, 0))
    private let received = Log<String>()
    private let tokens = Mutex<[ObservationToken]>([])

    init(_ use: GraphUse) { self.use = use }

    /// A derived value whose runs are noted under a name.
    func derived<Value: Sendable & Equatable>(
        _ name: String,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) -> Derived<Value> {
        Derived { [log] get in
            log.append(name)
            return compute(get)
        }
    }

    /// A derived value with results that cannot be compared.
    func incomparable<Value: Sendable>(
        _ name: String,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) -> Derived<Value> {
        Derived { [log] get in
            log.append(name)
            return compute(get)
        }
    }

    /// A derived value that can fail.
    func failing<Value: Sendable & Equatable>(
        _ name: String,
        _ compute: @escaping @Sendable (borrowing Reader) throws(Mishap) -> Value
    ) -> Derived<Result<Value, Mishap>> {
        Derived(throwing: { [log] get throws(Mishap) in
            log.append(name)
            return try compute(get)
        })
    }

    /// Begins with these as the last ones: reads them first, so that their first runs are not
    /// counted.
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

    /// The functions that have run since the last look, sorted.
    var runs: String {
        let entries = log.entries
        let before = taken.withLock { taken in
            defer { taken.runs = entries.count }
            return taken.runs
        }
        return entries[before...].sorted().joined(separator: " ")
    }

    /// In the order in which they have run.
    var order: String {
        let entries = log.entries
        let before = taken.withLock { $0.runs }
        return entries[before...].joined(separator: " ")
    }

    /// The changes that the observer has received since the last look.
    var news: String {
        let entries = received.entries
        let before = taken.withLock { taken in
            defer { taken.received = entries.count }
            return taken.received
        }
        return entries[before...].joined(separator: " ")
    }

    func forget() { _ = (runs, news) }

    /// Expects that the last step has made `derived` so, by these runs, and was received as this.
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
    /// Cases that public test suites of reactive libraries pin down, in our terms: each with its
    /// number, and an outcome of our choice where these suites disagree.
    @Suite("Derived values: cases of reactive suites")
    struct DerivedCases {}
}
