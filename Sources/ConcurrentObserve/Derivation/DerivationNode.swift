// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A *successor* takes the place of a derived
// value that the program has released: see `DerivationKeeper`. The comment at the top of
// `Derived.swift` explains this folder.

import ConcurrentObservePlatform
public import Synchronization

// A public class needs a public superclass. Documentation leaves out names with an underscore.
// swift-format-ignore: NoLeadingUnderscores

/// The part of a derived value that does not depend on the type of its value: the function, the
/// present evaluation, and the observation.
///
/// The evaluation is in a `DependencySet`. The derived value keeps its first four sets as long as
/// it lives, so a reader needs no read section and no pin to look into them. Further sets are not
/// kept, because a function may read different sources each time. Sets with sources whose roots are
/// not known are not kept either. A reader retains such a set under `lock`, and the set is released
/// when it is replaced.
@safe
public class _DerivationNode: @unchecked Sendable {
    // Unchecked: `lock` guards the variables; the rest is constant or atomic.

    /// The address of the present set's words, from which `load()` makes a `Present`. The lowest
    /// bit is set if readers must hold `lock` to read these words: there is no set yet, or the
    /// derived value does not keep the set. A thread that stores this address must hold `lock`.
    @usableFromInline final let present = Atomic<UInt>(1)
    /// The kept set that was added last; nil if there is none. The kept sets are linked. `lock`
    /// guards this variable.
    // Safe: no access to it overlaps another access to it.
    @safe @exclusivity(unchecked) final var kept: DependencySet?
    /// The function of the derived value: reads the sources, computes, and hands the result to the
    /// collector.
    private final let function: @Sendable (Collector) -> Void
    internal final let place: DerivationPlace
    /// Whether the function names its sources. Then it can make a function that references them
    /// weakly: see `Collector.weaken`.
    final let namesSources: Bool
    /// No user code runs under this lock. A thread that holds it may take the locks of the property
    /// that has the results, and of that property's mailboxes.
    @usableFromInline final let lock = SourceLock()

    /// The observation; nil while the value is not observed. `lock` guards it. The last reference
    /// to the observation is never released under `lock`: a thread or an observer that uses the
    /// observation has another reference.
    // Safe: no access to it overlaps another access to it.
    @safe @exclusivity(unchecked) final var observation: DerivedObservation?
    /// The keeper; nil before the first observation or sequence needs one. This reference does not
    /// retain the keeper. `lock` guards it.
    final weak var presentKeeper: DerivationKeeper?
    /// Notes about the last run of the function; nil unless runs were recorded. `lock` guards this
    /// variable.
    final var notes: RunNotes?
    /// Whether the value belongs to a model. Its observations then end with the model.
    private final let modelMark = Atomic(false)
    /// Retains the sources that the function of a successor references weakly. Nil if this object
    /// is not a successor, or if its function retains its sources itself.
    final let holdSources: (@Sendable (inout HeldSources) -> Bool)?

    @usableFromInline
    internal init(_ place: DerivationPlace, namesSources: Bool, _ function: @escaping @Sendable (Collector) -> Void) {
        (self.place, self.namesSources, self.function) = (place, namesSources, function)
        holdSources = nil
    }

    /// Makes a successor of `other`, which takes over its evaluation and its observers. The
    /// `deinit` of `other` has begun.
    ///
    /// - Parameter function: The successor's function; nil if the successor has the function of
    ///   `other`.
    internal init(succeeding other: DerivationNode, _ function: WeakFunction?) {
        (place, namesSources, self.function) = (other.place, false, function?.run ?? other.function)
        holdSources = function?.hold
        (observation, kept) = (other.observation.take(), other.kept.take())
        // Relaxed, both: no other thread has either of the two. The reference moves with the
        // address.
        present.store(other.present.exchange(1, ordering: .relaxed), ordering: .relaxed)
    }

    deinit {
        // Safe: no thread has the derived value any more.
        let address = present.load(ordering: .relaxed)
        if address & 1 == 1, address != 1 { unsafe DependencyWords.object(at: address & ~1).release() }
    }

    // `Derived`, which knows the type of the value, overrides these.

    /// Retires a replaced result. The caller must hold no lock.
    internal func retire(_ words: Latch.Words) { preconditionFailure("a derived value has a type") }

    /// Destroys a result that no other thread uses. The caller must hold no lock.
    internal func discard(_ words: Latch.Words) { preconditionFailure("a derived value has a type") }

    /// Makes a successor with `function`; nil stands for this derived value's own function.
    internal func makeSuccessor(_ function: WeakFunction?) -> DerivationNode {
        preconditionFailure("a derived value has a type")
    }
}

@usableFromInline
internal typealias DerivationNode = _DerivationNode

extension DerivationNode {
    /// The address of this object. It is only compared.
    @inline(__always)
    final var address: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    final func run(_ collector: Collector) { function(collector) }

    /// Returns the roots of one of the derived value's sets, which need not be the present one.
    final func roots(of set: DependencySet) -> [RootReference] {
        if let details = set.details { return details.roots }
        // The function retains its roots. It is run to list them.
        let collector = Collector()
        collector.outcome.isListing = true
        run(collector)
        return collector.state.collected.origins.compactMap(\.root)
    }

    /// Whether the value belongs to a model. Its observations then end with the model, and do not
    /// keep the value.
    final var isOfModel: Bool {
        // Relaxed: set before other threads receive the derived value.
        get { modelMark.load(ordering: .relaxed) }
        set { modelMark.store(newValue, ordering: .relaxed) }
    }
}

// MARK: - Reading

extension DerivationNode {
    /// Returns the words of the present evaluation, the set that stores it, and the set's sequence,
    /// if the versions of its roots show that it is current; else nil. Counts no reference and
    /// takes no lock.
    ///
    /// - Parameter firstOnly: True to read only the first word of the result. Pass a constant.
    @inlinable @inline(__always)
    internal final func look(
        firstOnly: Bool
    ) -> (words: Latch.Words, set: DependencyWords, sequence: UInt64)? {
        // Acquire: pairs with the release in replace(with:); the words of the set are complete.
        let address = present.load(ordering: .acquiring)
        if address & 1 == 1 { return nil }
        // Safe: the caller retains the derived value, which keeps the set. The set or the function
        // keeps the memory of the roots.
        let set = unsafe DependencyWords(UnsafeMutablePointer(bitPattern: address).unsafelyUnwrapped)
        let sequence = set.sequence
        // A pointer and a short counter, from which the compiler makes the shortest loop.
        var root = unsafe set.memory + DependencySet.Place.roots
        for _ in 0..<UInt32(truncatingIfNeeded: set.count) {
            // Relaxed: the sequence and the fence order it.
            let version = unsafe DependencyWords.atomic(root + 1).pointee.load(ordering: .relaxed)
            if unsafe DependencySet.word(at: UInt(root.pointee)) != version { return nil }
            unsafe root += 2
        }
        let first = set.word(DependencySet.Place.first)
        let second = firstOnly ? 0 : set.word(DependencySet.Place.second)
        // Odd: an evaluation is being stored, or another set has replaced this one.
        guard set.isStill(sequence) && sequence & 1 == 0 else { return nil }
        return (Latch.Words(first: UInt(first), second: UInt(second)), set, sequence)
    }

    /// Returns the present evaluation, which need not be current.
    @inline(__always)
    final func load() -> Present {
        // Acquire: pairs with the release in replace(with:).
        let address = present.load(ordering: .acquiring)
        if address & 1 == 0 {
            let present = Self.evaluation(at: address, retainsSet: false)
            if !present.isNone, present.set.isStill(present.sequence) { return present }
        }
        return loadLocked()
    }

    /// Returns the present evaluation under `lock`. `load()` needs it if the set may be released,
    /// or if another thread is publishing an evaluation. The child of a fork reads without the
    /// lock: no thread publishes there. (P18)
    @inline(never)
    private final func loadLocked() -> Present {
        Fork.isInChild ? retainPresent() : lock.withLock(retainPresent)
    }

    /// Returns the present evaluation. The caller must hold `lock`.
    final func retainPresent() -> Present {
        // Relaxed: the lock orders the changes.
        let address = present.load(ordering: .relaxed)
        if address == 1 { return .none }
        return Self.evaluation(at: address & ~1, retainsSet: address & 1 == 1)
    }

    /// Returns the evaluation in the set whose words are at `address`. It is complete only if its
    /// sequence is even, and the set still has this sequence afterwards.
    ///
    /// - Parameter retainsSet: Whether the evaluation retains the set.
    @inline(__always)
    private static func evaluation(at address: UInt, retainsSet: Bool) -> Present {
        // Safe: the derived value keeps the set, or the caller holds the lock.
        let set = unsafe DependencyWords(UnsafeMutablePointer(bitPattern: address).unsafelyUnwrapped)
        let sequence = set.sequence
        let words = Latch.Words(
            first: UInt(set.word(DependencySet.Place.first)),
            second: UInt(set.word(DependencySet.Place.second))
        )
        let version = set.word(DependencySet.Place.version)
        let owner = retainsSet ? set.object : nil
        return Present(set: set, sequence: sequence, version: version, words: words, owner: owner)
    }
}
