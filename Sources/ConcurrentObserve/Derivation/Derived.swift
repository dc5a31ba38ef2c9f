// SPDX-License-Identifier: Apache-2.0

// # Derivation: how a derived value is evaluated, and how its observers receive the results
//
// The room computes a value from properties, and keeps it until one of them changes. While the
// value is observed, each change of a property that was read evaluates it. The room uses Property,
// Transaction, KeyPaths and Delivery, and the rooms below these.
//
// Begin with `DerivationNode+Evaluating.swift`. A *root* is a property that stores its own value. A
// *ring* consists of derived values that need each other, or of one that needs itself. A
// *successor* takes the place of a derived value that the program has released.
// - `Derived`: the public type. Its superclass `DerivationNode` has all that does not depend on the
//   type of the value: the function, the present evaluation, the observation.
// - `DependencySet`: names the roots that were read, and stores an evaluation under a sequence
//   lock.
// - `Collector`: notes the versions of the roots that a function reads, and takes the result.
// - `EvaluationStack`: the evaluations on one thread; finds a derived value that needs itself.
// - `DependencyCopies`: copies of roots for a function whose sources change faster than it runs.
// - `DerivedObservation`: exists while the value is observed; has links at the roots, and results.
// - `DerivationLink`: the observer at one root.
// - `DerivedResults`: the property that the user's observers observe.
// - `DerivationKeeper`: observations retain it in place of the program's `Derived`.
//
// The life of a derived value:
// 1. `Derived.init` makes it, without an evaluation. It is registered nowhere.
// 2. `value` calls `look(firstOnly:)`, which compares the versions in the set with those of the
//    roots. It takes no lock; an unchanged, even sequence (acquire) proves that the words belong
//    together. If it fails, `refresh` looks once more, then calls `evaluate`.
// 3. `EvaluationStack.perform` provides a collector. `collect` runs the function under no lock,
//    until `isConsistent` finds that all versions were present together. A function that names its
//    sources runs after that check (`isSnapshotConsistent`). From the twelfth failure on the
//    function runs on copies (`noteFailure`).
// 4. `commit` takes the lock of the derived value. If `isPresentLocked` still finds the evaluation
//    with which this one began, `publish` stores the new one (`DependencyWords.store`: odd
//    sequence, words, even sequence with release). If not, another thread was first, and `refresh`
//    takes its result or evaluates again. The replaced result and set are retired after the unlock.
//    A result of a function that reads another function's copies is not published:
//    `Present.unpublished` hands it to that function.
// 5. `attach` makes a `DerivedObservation` for the first observer (`beginObserving`). `begin` links
//    the roots in a drain loop (`round`), and evaluates again if a root changed before its link.
//    Then `DerivedResults.attach` registers the user's observer.
// 6. A changed root calls `linkHasChanged`, which only defers. After all links of that root,
//    `settle` evaluates in the drain loop. `commit` also publishes the result to `DerivedResults`,
//    under the same lock. `announce` calls the observers under no lock. A thread that reads the
//    value may publish a result, too, and never announces it: the thread that changed the root
//    does, a thread that begins an observation (`begin`), or a thread of the library
//    (`settleElsewhere`).
// 7. When the last observer ends, `endLinks` ends the links, before the call that ended the
//    observer returns. (P24)
// 8. `deinit` makes a successor for the observers (`isSucceeded(in:)`), or ends them. (P11, P12)
//
// P1 to P25 are the promises of the article Contract. Rules of the room:
// - The function and `==` run under no lock of the library, unless the body of a `modify` or of a
//   commit reads the value. No thread waits for another thread's evaluation. (P5, P25)
// - A result is published only if all versions read were present together. (P22, P23)
//
// The walk that matters most: `linkHasChanged`, `settle`, `runLoop`, `round`, `refresh`,
// `evaluate`, `collect`, `commit`, `publish`, `DerivedResults.publish`, `announce`.

import ConcurrentObservePlatform
import Synchronization

/// A value that is computed from properties and is always current, on any thread. It is never
/// computed from values that were not present together.
///
/// ```swift
/// let healthy = Derived { get in get(car.rpm) < 6_000 && !get(car.stalled) }
/// let total = Derived(order.price, order.quantity) { $0 * $1 }
/// let token = total.observe { change in print(change.new) }
/// ```
///
/// The function of the first form reads with the `Reader` that it receives. The value depends on
/// the properties that the function's last run read: the next run may take another branch, and read
/// others. The second form names the properties, and its function receives values that were present
/// together.
///
/// The value is the function's result for one consistent snapshot that held during the call. (P22,
/// P23) A read runs the function only if a source has changed; the result is kept until then. An
/// unobserved derived value is registered nowhere, and retains the objects that its function
/// captures. An observation keeps the derived value until the observation ends, and does not keep
/// the sources that the derived value names. (P11) While the derived value is observed, each change
/// of a property that the last run read causes one evaluation, on the thread that makes the change.
/// Its observers receive the result. If `Value` is `Equatable`, they receive only results that
/// differ. (P24)
///
/// The function is yours: it may read anything, block, and change properties that it does not read.
/// The library holds no lock while it runs. It may run on several threads at once, and more often
/// than its result changes. The function of the first form may even run on values that were never
/// present together. Such a result is discarded, but the function must bear such values:
/// `get(items)[get(index)]` may find an index out of bounds. Read these properties by the second
/// form, or with `get(Group(items, index))`.
///
/// A derived value whose function reads the derived value itself traps, with the path in the
/// message. `Derived(throwing:)` makes one that has a ``DerivedCycle`` as its error instead. (P25)
public final class Derived<Value: Sendable>: _DerivationNode, @unchecked Sendable {
    // Unchecked: as in the superclass; `areEqual` is constant.

    /// The rule of `removingDuplicates(by:)`, for observers whose buffer may drop changes.
    @usableFromInline internal let areEqual: (@Sendable (Value, Value) -> Bool)?

    /// Makes a derived value with this function, and without an evaluation.
    ///
    /// - Parameters:
    ///   - file: The file of the code that makes it.
    ///   - line: The line of that code.
    ///   - areEqual: The rule of `removingDuplicates(by:)`; nil for other derived values.
    ///   - namesSources: Whether the function calls `Collector.weaken` if `outcome.isWeakening`.
    ///   - reportsRings: Whether the derived value has an error if it needs itself. If not, the
    ///     process traps.
    ///   - function: Reads, and hands its result to the collector by one of the collector's
    ///     `finish` functions.
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
        super.init(DerivationPlace(file, line, reportsRings: reportsRings), namesSources: namesSources, function)
    }

    private init(succeeding other: Derived, _ function: WeakFunction?) {
        areEqual = other.areEqual
        super.init(succeeding: other, function)
    }

    /// Hands the observations over to a successor, if there is one. A model's derived value has
    /// none. Without a successor the observations end, and `onEnd` receives `.sourceDeleted`. (P11,
    /// P12)
    deinit {
        if Fork.isInChild { return }
        if let keeper = presentKeeper, isSucceeded(in: keeper) { return }
        observation?.sourceIsGone()
        if !ValueEncoding<Value>.isAlwaysInline {
            let present = load()
            if !present.isNone { discard(present.words) }
        }
    }

    override func makeSuccessor(_ function: WeakFunction?) -> DerivationNode {
        Derived(succeeding: self, function)
    }

    override func retire(_ words: Latch.Words) {
        ValueCell<Value>.Replaced(words: words, version: 0, source: address).retire()
    }

    override func discard(_ words: Latch.Words) { ValueEncoding<Value>.discard(words) }
}

// MARK: - Making

extension Derived {
    /// Makes a derived value that `compute` computes from the properties that it reads. Every
    /// result is a change. If the compiler knows that `Value` is `Equatable`, the same call makes a
    /// derived value that compares its results.
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Reads by calling its parameter with a property, as in `get(car.name)`. Runs on
    ///     any thread, under no lock.
    @inlinable
    public convenience init(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) {
        self.init(fileID, line) { collector in collector.finish(collector.run(compute)) }
    }
}

extension Derived where Value: Equatable {
    /// Makes a derived value that `compute` computes from the properties that it reads. A result
    /// that equals the previous one is no change. (P24)
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Reads by calling its parameter with a property, as in `get(car.name)`. Runs on
    ///     any thread, under no lock.
    @inlinable
    public convenience init(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ compute: @escaping @Sendable (borrowing Reader) -> Value
    ) {
        self.init(fileID, line) { collector in collector.finish(collector.run(compute), ==) }
    }
}

extension Derived {
    /// Makes a derived value whose function can fail. An error is a value like others: it is kept
    /// until a source changes, and delivered as a change. (P25)
    ///
    /// Every result is a change, because most errors cannot be compared. `get(other).get()` passes
    /// on another derived value's error.
    ///
    /// If `Failure` is `any Error` or ``DerivedCycle``, a ring of derived values that need each
    /// other does not trap. One member of the ring whose function can throw that error has a
    /// ``DerivedCycle`` as its error, and the other members compute from it.
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Reads by calling its parameter with a property. Runs on any thread, under no
    ///     lock.
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

    /// Makes a derived value whose function can fail, if its successes and its errors can be
    /// compared. A result that equals the previous one is no change. An error is a value like
    /// others: it is kept until a source changes, and delivered as a change. (P24, P25)
    ///
    /// If `Failure` is ``DerivedCycle``, a ring of derived values that need each other does not
    /// trap: one of them has the error, and the others compute from it.
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Reads by calling its parameter with a property. Runs on any thread, under no
    ///     lock.
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
        if let cycle = collector.cycle { return .failure(cycle as! Failure) }
        let result: Value
        do throws(Failure) { result = .success(try collector.run(compute)) } catch { result = .failure(error) }
        return collector.cycle.map { .failure($0 as! Failure) } ?? result
    }
}
