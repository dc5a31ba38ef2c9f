// SPDX-License-Identifier: Apache-2.0

/// The present evaluation of a derived value: read by any thread, replaced by one at a time.
internal typealias EvaluationCell = ValueCell<EvaluationRecord>

extension EvaluationRecord {
    /// The evaluation with its result, which the caller knows to be of a derived value of `Value`; not `none`.
    @inline(__always)
    func of<Value>(_ type: Value.Type) -> Evaluation<Value> {
        assert(!isNone, "there was no evaluation")
        // Safe: a derived value publishes no other class but that of `none`.
        return unsafe unsafeDowncast(self, to: Evaluation<Value>.self)
    }
}

extension EvaluationCell {
    /// Calls `body` with the present evaluation, which may be `none`. Counts no reference.
    @inline(__always)
    borrowing func withRecord<Result>(_ body: (EvaluationRecord) -> Result) -> Result {
        whilePinned { words, _ in
            if Encoding.isBoxed(words) { return body(Encoding.copy(words)) }
            // Safe: the pin keeps the evaluation; the first word is its reference.
            return unsafe Unmanaged<EvaluationRecord>.fromOpaque(
                UnsafeRawPointer(bitPattern: words.first).unsafelyUnwrapped
            )
            ._withUnsafeGuaranteedRef { body($0) }
        }
    }

    /// Whether an evaluation, which the caller retains, is the present one. Under the lock.
    borrowing func isPresent(_ record: EvaluationRecord) -> Bool { copyUnderLock() === record }
}
