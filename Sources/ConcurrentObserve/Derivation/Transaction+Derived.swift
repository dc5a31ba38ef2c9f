// SPDX-License-Identifier: Apache-2.0

extension Derived {
    /// Returns the value for what the body of a commit has set, and for the present values of other
    /// properties. It is not published. Called in the body, on its thread. (P19, P22)
    internal func value(of drafts: SourceCopies) -> Value {
        var value: Value?
        _ = EvaluationStack.current.perform(self, cell.place) { collector in
            collector.begin(on: drafts)
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
        unsafe derived.value(of: SourceCopies(drafts))
    }
}
