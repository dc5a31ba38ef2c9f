// SPDX-License-Identifier: Apache-2.0

/// Stands for the members of a commit while the commit's body reads a derived value. Each member
/// has the value that the body has set, or else the present one, which no other thread changes.
/// (P19)
///
/// It belongs to the body's thread, and to one read: the body may set another value before the
/// next.
@safe internal final class DraftCopies {
    private let drafts: UnsafeMutableBufferPointer<Draft>
    private var copies: [UInt: SourceCopy] = [:]

    init(_ drafts: UnsafeMutableBufferPointer<Draft>) { unsafe self.drafts = drafts }

    /// Whether the property with this version address is a member.
    func has(_ address: UInt) -> Bool { unsafe Draft.index(of: address, in: drafts) != nil }

    /// Returns the copy of a member. Returns nil if the property is no member.
    func copy(of root: any DerivationRoot) -> SourceCopy? {
        let address = root.versionAddress
        // Safe: the commit keeps the drafts until its body has returned, and this runs in the body.
        guard let index = unsafe Draft.index(of: address, in: drafts) else { return nil }
        if let copy = copies[address] { return copy }
        let copy = unsafe root.copy(of: drafts[index])
        copies[address] = copy
        return copy
    }
}

extension Observed {
    func copy(of draft: borrowing Draft) -> SourceCopy {
        // The words of a property's draft stand for a value of the property's type.
        let value = draft.isSet ? ValueEncoding<Value>.copy(draft.words) : cell.copyLocked()
        return SourceCopy(property: Observed(value), version: version, referent: referent(in: value))
    }
}

extension Collector {
    /// Whether the function reads the drafts of a commit.
    var isOnDrafts: Bool { state.copies?.drafts != nil }

    /// Begins an evaluation that reads drafts.
    func begin(onDrafts drafts: DraftCopies) {
        begin(after: .none, watch: nil)
        use(SourceCopies(drafts), after: 1)
    }
}

extension Derived {
    /// Returns the value for what the body of a commit has set, and for the present values of other
    /// properties. It is not published. Called in the body, on its thread. (P19, P22)
    internal func value(of drafts: DraftCopies) -> Value {
        var value: Value?
        _ = EvaluationStack.current.perform(self, cell.place) { collector in
            collector.begin(onDrafts: drafts)
            while true {
                ThreadRecord.withUserCode { cell.run(collector) }
                let words = collector.outcome.result
                if collector.outcome.isSnapshot || collector.isConsistent { value = ValueEncoding<Value>.copy(words) }
                if !collector.outcome.isInline { discard(words) }
                if value != nil { return .none }
                collector.pauseAndRestart()
            }
        }
        return value!
    }
}

extension Transaction {
    /// The value that a derived value has for the drafts. Its function reads the drafts of members.
    /// The values that it reads of other properties were present together. (P19, P22)
    ///
    /// ```swift
    /// let total = Derived(from.balance, to.balance) { $0 + $1 }
    /// try Group(from.balance, to.balance).commit { transaction in
    ///     transaction[from.balance] -= amount
    ///     guard transaction[total] >= 0 else { throw Overdrawn() }
    /// }
    /// ```
    ///
    /// The function runs at each read, inside the body, under the locks of the members: it should
    /// be short. Derived values that it reads with its reader are evaluated for the drafts, too.
    /// `property.value` and properties of types of yours give it their present values. Nothing is
    /// kept: the derived value's own `value` does not change until the commit is published.
    ///
    /// - Complexity: O(what the function reads), and the function.
    public subscript<Value: Sendable>(_ derived: Derived<Value>) -> Value {
        // Safe: the commit keeps the drafts until its body has returned.
        unsafe derived.value(of: DraftCopies(drafts))
    }
}
