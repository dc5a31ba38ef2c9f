// SPDX-License-Identifier: Apache-2.0

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
/// and retains what its function captures. While it is observed, each change of what the function read last evaluates
/// it once, on the thread that makes the change, and its observers receive the results that differ. (P24)
///
/// The function is yours: it may read anything, block, change properties that it does not read. No lock of the library
/// is held. It may run on several threads at once, and more often than its result changes. The first form's may even
/// run on values that never were together; such a result is discarded, but the function must bear it:
/// `get(items)[get(index)]` may find an index out of bounds. Read such properties by the second form, or with
/// `get(Group(items, index))`.
///
/// A derived value whose function reads the derived value itself traps, with the path. (P25)
public final class Derived<Value: Sendable>: @unchecked Sendable {
    // Unchecked: the cell is any thread's.

    @usableFromInline internal let cell: DerivationCell

    /// - Parameter function: Reads, and hands its result to the collector by one of its `finish`.
    @inlinable
    internal init(
        _ file: StaticString,
        _ line: UInt,
        _ function: @escaping @Sendable (Collector) -> Void
    ) {
        cell = DerivationCell(DerivationPlace(file, line), function)
    }

    /// Ends every observation; `onEnd` receives `.sourceDeleted`. (P12)
    deinit {
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
    ///   - source: The properties, in the order of the function's parameters.
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<each Source: ObservableProperty>(
        _ source: repeat each Source,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (repeat (each Source).Value) -> Value
    ) {
        self.init(fileID, line) { collector in
            collector.snapshot {
                let values = (repeat collector.read(each source))
                return { collector.finish(compute(repeat each values)) }
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
    ///   - source: The properties, in the order of the function's parameters.
    ///   - fileID: Where the value is made: for the message about one that needs itself.
    ///   - line: The line there.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<each Source: ObservableProperty>(
        _ source: repeat each Source,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (repeat (each Source).Value) -> Value
    ) {
        self.init(fileID, line) { collector in
            collector.snapshot {
                let values = (repeat collector.read(each source))
                return { collector.finish(compute(repeat each values), ==) }
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
        self.init(fileID, line) { collector in collector.finish(Self.result(of: compute, collector)) }
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
        self.init(fileID, line) { collector in collector.finish(Self.result(of: compute, collector), ==) }
    }

    @inlinable
    internal static func result<Success: Sendable, Failure: Error>(
        of compute: @Sendable (borrowing Reader) throws(Failure) -> Success,
        _ collector: Collector
    ) -> Value where Value == Result<Success, Failure> {
        do throws(Failure) { return .success(try collector.run(compute)) } catch { return .failure(error) }
    }
}
