// SPDX-License-Identifier: Apache-2.0

// What the functions of derived values call: specialised where they are compiled.
extension Collector {
    /// The value of any property.
    @inlinable
    func read<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        // Where this is specialised, the compiler knows.
        if let property = property as? Observed<Property.Value> { return read(property) }
        if let derived = property as? Derived<Property.Value> { return derived.read(into: self) }
        if let constant = property as? Constant<Property.Value> { return constant.value }
        return readOther(property)
    }

    /// The value of a property that keeps it itself.
    @inlinable @inline(__always)
    func read<Value: Sendable>(_ property: Observed<Value>) -> Value {
        let (value, version) = property.cell.load()
        if !follow(property.cell.source, version) { return note(property: property, value, version) }
        return value
    }

    /// The result of a derived value that is bits alone.
    func read(_ derived: any DerivationNode, _ cell: borrowing DerivationCell) -> Latch.Words {
        if outcome.isOnCopies { return evaluateOnCopies(derived, cell) }
        while true {
            let present = cell.refresh(derived, for: self)
            if present.isNone { return takeAnswer() }
            if note(derived, present) {
                return present.words
            }
        }
    }

    /// Returns the value that the function is to read: the present one, or the copy's.
    @usableFromInline @inline(never)
    func note<Value: Sendable>(property: Observed<Value>, _ value: Value, _ version: UInt64) -> Value {
        let copy = outcome.isOnCopies ? copy(of: property) : nil
        note(property, copy?.version ?? version, isRetained: true)
        return copy.map { ($0.property as! Observed<Value>).value } ?? value
    }

    /// The value of a property of another type.
    @usableFromInline @inline(never)
    func readOther<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        if let source = property as? any DerivationSource<Property.Value> { return source.read(into: self) }
        let (value, version) = property.snapshot()
        note(OtherProperty(property), version)
        return value
    }
}

// MARK: - Results

extension Collector {
    /// Runs the rest of a function that `read` returns when it has read values that were present together.
    @inlinable @inline(__always)
    func snapshot(_ read: () -> () -> Void) {
        while true {
            outcome.retains = true
            let rest = read()
            if outcome.isListing { return }
            if isSnapshotConsistent {
                outcome.isSnapshot = true
                if readsTheSame {
                    outcome.isSame = true
                    return
                }
                return rest()
            }
            pauseAndRestart()
        }
    }

    /// Takes a result; each is a change.
    @inlinable @inline(__always)
    func finish<Value: Sendable>(_ value: Value) {
        if outcome.isListing { return }
        outcome.isSame = false
        put(value)
    }

    /// Takes a result, which is no change if it equals the one before.
    @inlinable @inline(__always)
    func finish<Value: Sendable>(_ value: Value, _ areEqual: (Value, Value) -> Bool) {
        if outcome.isListing { return }
        outcome.isInline = ValueEncoding<Value>.isAlwaysInline
        outcome.isSame = outcome.hasBefore && !Self.countsEqual && isEqual(value, areEqual)
        if !outcome.isSame { put(value) }
    }

    @inlinable @inline(__always)
    func put<Value: Sendable>(_ value: Value) {
        outcome.isInline = ValueEncoding<Value>.isAlwaysInline
        outcome.result = ValueEncoding<Value>.encode(value, mark: mark(of: value))
    }

    /// The second word of all of the derived value's results, if these are references.
    @inlinable @inline(__always)
    func mark<Value: Sendable>(of _: borrowing Value) -> UInt {
        guard ValueEncoding<Value>.isMarked else { return 0 }
        return outcome.hasBefore ? outcome.before.second : ValueEncoding<Value>.mark.word
    }

    /// Whether a result that equals the one before is a change all the same: never.
    @inlinable @inline(__always)
    static var countsEqual: Bool {
        return false
    }

    @inlinable @inline(__always)
    func isEqual<Value: Sendable>(_ value: Value, _ areEqual: (Value, Value) -> Bool) -> Bool {
        return comparesEqual(value, areEqual)
    }

    @inlinable @inline(__always)
    func comparesEqual<Value: Sendable>(_ value: Value, _ areEqual: (Value, Value) -> Bool) -> Bool {
        let words = outcome.before
        if ValueEncoding<Value>.isAlwaysInline { return areEqual(ValueEncoding<Value>.decode(words), value) }
        guard let copy = copyOfBefore(Value.self, words) else { return false }
        return areEqual(copy, value)
    }

    /// The outcome.result before; nil if another thread has replaced it: then what this one collects is for nothing.
    @inlinable @inline(never)
    func copyOfBefore<Value: Sendable>(_: Value.Type, _ words: Latch.Words) -> Value? {
        // Safe: records are never freed; the frame is this thread's until leaveFrame().
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        defer {
            unsafe frame.pointee.unpin()
            unsafe record.leaveFrame()
        }
        unsafe ValueCell<Value>.storePin(ValueEncoding<Value>.reference(in: words), in: frame)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        return isBasePresent ? ValueEncoding<Value>.copy(words) : nil
    }
}
