// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. The comment at the top of `Derived.swift`
// explains this folder.

/// Reads properties in the function of a derived value: `get(property)`.
///
/// The derived value follows the properties that the function reads with the reader. It does not
/// follow a property that the function reads as `property.value`. The reader cannot be kept beyond
/// the call, and traps on another thread.
public struct Reader: ~Copyable {
    @usableFromInline internal let collector: Collector

    internal init(_ collector: Collector) { self.collector = collector }

    /// Returns the value of a property of any kind. Never waits. If the property is a derived value
    /// that is not current, evaluates it.
    @inlinable
    public borrowing func callAsFunction<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        collector.trapElsewhere()
        return collector.read(property)
    }
}

extension Collector {
    /// Runs the function of a derived value with a reader. This function is not inlinable, because
    /// the compiler of Swift 6.3 crashes if it inlines code that makes a noncopyable value which
    /// holds a reference.
    @usableFromInline @inline(never) @_semantics("optimize.no.crossmodule")
    internal func run<Value, Failure: Error>(
        _ compute: (borrowing Reader) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try compute(Reader(self))
    }
}

// MARK: - Reading

// The functions of derived values call these. The compiler specialises them there.
extension Collector {
    /// Returns the value of a property of any type, and notes that it was read.
    @inlinable
    func read<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        // The compiler knows the results of these casts where it specialises this function.
        if let property = property as? Observed<Property.Value> { return read(property) }
        if let derived = property as? Derived<Property.Value> { return derived.read(into: self) }
        if let constant = property as? _Constant<Property.Value> { return constant.value }
        return readOther(property)
    }

    /// Returns a function that reads `property`. This call finds out the property's type once, for
    /// all reads.
    @inlinable
    static func reader<Property: ObservableProperty>(
        of property: Property
    ) -> @Sendable (Collector) -> Property.Value {
        if let property = property as? Observed<Property.Value> { return { $0.read(property) } }
        if let derived = property as? Derived<Property.Value> { return { derived.read(into: $0) } }
        return { $0.read(property) }
    }

    /// Returns the value of an `Observed` property, and notes its version.
    @inlinable @inline(__always)
    func read<Value: Sendable>(_ property: Observed<Value>) -> Value {
        let (value, version) = property.cell.load()
        if !follow(property.cell.address, version) { return note(property: property, value, version) }
        return value
    }

    /// Gets an evaluation of `derived`, and returns the part of it that `take` extracts. The
    /// evaluation is current, or was made on the copies that this function reads. Notes the read.
    /// If `take` returns nil, tries again with another evaluation.
    @inline(__always)
    func read<Part>(_ derived: DerivationNode, _ take: (borrowing Present) -> Part?) -> Part {
        while true {
            let present = read(derived)
            guard let part = take(present) else { continue }
            note(derived, present)
            return part
        }
    }

    /// Returns an evaluation of `derived` for this function: one that is current, or one on the
    /// function's copies. Moves the function to copies if both belong to a ring.
    @inline(__always)
    private func read(_ derived: DerivationNode) -> Present {
        if !isOnCopies {
            let present = derived.refresh(for: self)
            // The evaluation of `derived` may have moved this one to copies.
            if !isOnCopies, !(present.set.isOfRing && joinRing(present.set.object)) { return present }
        }
        return Present(unpublished: resultOnCopies(derived))
    }

    /// Notes a property that `state.followed`, the set of the previous evaluation, does not name
    /// next. Returns the value that the function must use: the copy's if there is a copy, else
    /// `value`.
    @usableFromInline @inline(never)
    func note<Value: Sendable>(property: Observed<Value>, _ value: Value, _ version: UInt64) -> Value {
        let copy = copy(of: property)
        note(property, copy?.version ?? version, isRetained: true)
        return copy.map { ($0.property as! Observed<Value>).value } ?? value
    }

    /// Returns the value of a property of another type, and notes that it was read.
    @usableFromInline @inline(never)
    func readOther<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        if let source = property as? any Dependency<Property.Value> { return source.read(into: self) }
        let (value, version) = property.snapshot()
        note(OtherProperty(property), version)
        return value
    }
}

// MARK: - Results

extension Collector {
    /// Calls `read` until the values that it returns were present at one moment. Then calls
    /// `compute` with them, unless the previous evaluation read the same values.
    @inlinable @inline(__always)
    func snapshot<Values>(_ read: () -> Values, then compute: (Values) -> Void) {
        outcome.retains = true
        while true {
            let values = read()
            guard let mustCompute = mustCompute() else { continue }
            if mustCompute { compute(values) }
            return
        }
    }

    /// Decides whether a function that has read all that it needs must compute. Returns nil if the
    /// values were not present at one moment: then the caller must read them again. Returns false
    /// if the previous evaluation read the same values, or if the function runs only to list its
    /// roots.
    @inlinable @inline(__always)
    func mustCompute() -> Bool? {
        if outcome.isListing { return false }
        guard isSnapshotConsistent else {
            pauseAndRestart()
            outcome.retains = true
            return nil
        }
        outcome.isSnapshot = true
        outcome.isSame = readsTheSame
        return !outcome.isSame
    }

    /// Stores the result, unless it equals the previous one: then it is no change. If `areEqual` is
    /// nil, every result counts as a change.
    @inlinable @inline(__always)
    func finish<Value: Sendable>(_ value: Value, _ areEqual: ((Value, Value) -> Bool)? = nil) {
        if outcome.isListing { return }
        outcome.isInline = ValueEncoding<Value>.isAlwaysInline
        outcome.isSame = false
        if outcome.hasBefore, let areEqual { outcome.isSame = isEqual(value, areEqual) }
        if !outcome.isSame { outcome.result = ValueEncoding<Value>.encode(value, mark: mark(of: value)) }
    }

    /// Returns the second word of the result: the mark (see `ValueMark`), which is the same for all
    /// results of the derived value. It is 0 for types without a mark.
    @inlinable @inline(__always)
    func mark<Value: Sendable>(of _: borrowing Value) -> UInt {
        guard !ValueEncoding<Value>.isAlwaysInline else { return 0 }
        return outcome.hasBefore ? outcome.before.second : ValueMark.of(Value.self)
    }

    /// Whether the result equals the previous one.
    @inlinable @inline(__always)
    func isEqual<Value: Sendable>(_ value: Value, _ areEqual: (Value, Value) -> Bool) -> Bool {
        let words = outcome.before
        if ValueEncoding<Value>.isAlwaysInline { return areEqual(ValueEncoding<Value>.decode(words), value) }
        guard let copy = copyOfBefore(Value.self, words) else { return false }
        return areEqual(copy, value)
    }

    /// Returns a copy of the previous result. Returns nil if another thread has replaced that
    /// result: then this evaluation will be discarded.
    @inlinable @inline(never)
    func copyOfBefore<Value: Sendable>(_: Value.Type, _ words: Latch.Words) -> Value? {
        ValueEncoding<Value>.copy(words) { isBasePresent }
    }
}

// MARK: - Misuse

extension Collector {
    /// Traps if the caller is not the evaluating thread: two threads would change the collection at
    /// once.
    @usableFromInline
    func trapElsewhere() {
        guard ThreadRecord.ownAddress != thread else { return }
        fatalError(
            "ConcurrentObserve: the function of a derived value has handed its reader to another thread. Read on the thread that runs the function, and hand on the values."
        )
    }

    /// Traps if the caller is on another thread, or if the function's run with the number `run` has
    /// ended.
    @usableFromInline
    func trapOutside(run: Int) {
        trapElsewhere()
        guard outcome.run != run else { return }
        fatalError(
            "ConcurrentObserve: the function of a derived value has kept a followed model beyond its run. Follow the model again in each run, or keep the model itself, which 'get(engine)' returns."
        )
    }
}
