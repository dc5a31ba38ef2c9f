// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// A value that is computed from properties, always current, never of a mixture of versions, on any thread.
///
/// ```swift
/// let healthy = Derived { get in get(car.rpm) < 6_000 && !get(car.stalled) }
/// let total = Derived(order.price, order.quantity) { $0 * $1 }
/// let token = total.observe { change in print(change.new) }
/// ```
///
/// The function of the first form reads with the `Reader` that it receives, and what it has read last is what the value
/// depends on: another branch, other properties. The second form names them, and its function receives values that were
/// present together.
///
/// The value is that of the function for one consistent snapshot that held during the call. (P22, P23) It is computed
/// when it is read and a source has changed, and kept until then. An unobserved derived value is registered nowhere,
/// and retains what its function captures. An observation keeps it until it ends, and does not keep the sources that it
/// names. (P11) While it is observed, each change of what the function read last evaluates
/// it once, on the thread that makes the change, and its observers receive the results that differ. (P24)
///
/// The function is yours: it may read anything, block, change properties that it does not read. No lock of the library
/// is held. It may run on several threads at once, and more often than its result changes. The first form's may even
/// run on values that never were together; such a result is discarded, but the function must bear it:
/// `get(items)[get(index)]` may find an index out of bounds. Read such properties by the second form, or with
/// `get(Group(items, index))`.
///
/// A derived value whose function reads the derived value itself traps, with the path. `Derived(throwing:)` makes one that has a
/// ``DerivedCycle`` as its error instead. (P25)
public final class Derived<Value: Sendable>: @unchecked Sendable {
    // Unchecked: the cell is any thread's.

    @usableFromInline internal let cell: DerivationCell
    /// Which values no observer receives one after the other.
    @usableFromInline internal let areEqual: (@Sendable (Value, Value) -> Bool)?

    /// What the observations and sequences of the value keep. Not retained. Guarded by the cell's lock.
    @usableFromInline internal weak var presentKeeper: DerivationKeeper?
    /// Whether a model has the value: the observations end with it.
    @usableFromInline internal let modelMark = Atomic(false)
    /// A successor's: retains what its function needs.
    @usableFromInline internal let holdSources: (@Sendable (inout HeldSources) -> Bool)?

    /// - Parameters:
    ///   - areEqual: The rule of `removingDuplicates(by:)`.
    ///   - namesSources: Whether the function calls `Collector.weaken` if it is asked for that.
    ///   - function: Reads, and hands its result to the collector by one of its `finish`.
    @inlinable
    internal init(
        _ file: StaticString,
        _ line: UInt,
        areEqual: (@Sendable (Value, Value) -> Bool)? = nil,
        namesSources: Bool = false,
        reportsRings: Bool = false,
        _ function: @escaping @Sendable (Collector) -> Void
    ) {
        self.areEqual = areEqual
        cell = DerivationCell(
            DerivationPlace(file, line, reportsRings: reportsRings),
            namesSources: namesSources,
            function
        )
        holdSources = nil
    }

    /// The successor of a derived value whose `deinit` has begun.
    internal init(succeeding other: Derived, _ function: WeakFunction?) {
        areEqual = other.areEqual
        cell = DerivationCell(succeeding: other.cell, function?.run)
        holdSources = function?.hold
    }

    /// Hands the observations over to a successor, if there are any; those of a model's derived value, and of a successor, end: `onEnd`
    /// receives `.sourceDeleted`. (P11, P12)
    deinit {
        if let keeper = presentKeeper, isSucceeded(in: keeper) { return }
        cell.withObservation { $0.sourceIsGone() }
        if !ValueEncoding<Value>.isAlwaysInline {
            let present = cell.load()
            if !present.isNone { discard(present.words) }
        }
    }
}

// MARK: - Making

extension Derived {
    /// Makes a derived value of what its function reads. Every result is a change: results that can be compared are
    /// made by the same call where the compiler knows that `Value` is `Equatable`.
    ///
    /// - Parameters:
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Reads by calling its parameter with a property, as in `get(car.name)`. Runs on any thread, under no lock.
    @inlinable
    public convenience init(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) {
        self.init(fileID, line) { collector in collector.finish(collector.run(compute)) }
    }

    /// Makes a derived value of these properties, which it retains. Every result is a change.
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - other: The other properties, in the order of the function's parameters.
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty, each Other: ObservableProperty>(
        _ first: First,
        _ other: repeat each Other,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, repeat (each Other).Value) -> Value
    ) {
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, repeat each other, compute: compute) { $0.finish($1) }
            }
            collector.snapshot {
                let values = (collector.read(first), (repeat collector.read(each other)))
                return { collector.finish(compute(values.0, repeat each values.1)) }
            }
        }
    }
}

extension Derived where Value: Equatable {
    /// Makes a derived value of what its function reads. A result that equals the one before is no change. (P24)
    ///
    /// - Parameters:
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Reads by calling its parameter with a property, as in `get(car.name)`. Runs on any thread, under no lock.
    @inlinable
    public convenience init(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) {
        self.init(fileID, line) { collector in collector.finish(collector.run(compute), ==) }
    }

    /// Makes a derived value of these properties, which it retains. A result that equals the one before is no change. (P24)
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - other: The other properties, in the order of the function's parameters.
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty, each Other: ObservableProperty>(
        _ first: First,
        _ other: repeat each Other,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, repeat (each Other).Value) -> Value
    ) {
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, repeat each other, compute: compute) { $0.finish($1, ==) }
            }
            collector.snapshot {
                let values = (collector.read(first), (repeat collector.read(each other)))
                return { collector.finish(compute(values.0, repeat each values.1), ==) }
            }
        }
    }
}

extension Derived {
    /// Makes a derived value of a function that can fail. An error is a value like others: kept until a source changes,
    /// and delivered as a change. (P25)
    ///
    /// Every result is a change: errors most often cannot be compared. `get(other).get()` passes on another's error.
    ///
    /// If `Failure` is `any Error` or ``DerivedCycle``, a ring of derived values that need each other does not trap: of each ring one
    /// member whose function can throw has a ``DerivedCycle`` as its error, and the others compute from that.
    ///
    /// - Parameters:
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Reads by calling its parameter with a property. Runs on any thread, under no lock.
    @inlinable
    public convenience init<Success: Sendable, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        throwing compute: @escaping @Sendable (borrowing Reader) throws(Failure) -> Success
    ) where Value == Result<Success, Failure> {
        self.init(fileID, line, reportsRings: DerivedCycle.isReported(as: Failure.self)) { collector in
            collector.finish(Self.result(of: compute, collector))
        }
    }

    /// Makes a derived value of a function that can fail, where two successes, and two failures, can be compared: a
    /// result that equals the one before is no change. An error is a value like others: kept until a source changes,
    /// and delivered as a change. (P24, P25)
    ///
    /// - Parameters:
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Reads by calling its parameter with a property. Runs on any thread, under no lock.
    @inlinable
    public convenience init<Success: Sendable & Equatable, Failure: Error & Equatable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        throwing compute: @escaping @Sendable (borrowing Reader) throws(Failure) -> Success
    ) where Value == Result<Success, Failure> {
        self.init(fileID, line, reportsRings: DerivedCycle.isReported(as: Failure.self)) { collector in
            collector.finish(Self.result(of: compute, collector), ==)
        }
    }

    @inlinable
    internal static func result<Success: Sendable, Failure: Error>(
        of compute: @Sendable (borrowing Reader) throws(Failure) -> Success,
        _ collector: Collector
    ) -> Value where Value == Result<Success, Failure> {
        if let cycle = collector.givenCycle { return .failure(cycle as! Failure) }
        let result: Value
        do throws(Failure) { result = .success(try collector.run(compute)) } catch { result = .failure(error) }
        return collector.foundCycle.map { .failure($0 as! Failure) } ?? result
    }
}
