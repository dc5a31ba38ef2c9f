// SPDX-License-Identifier: Apache-2.0

/// Calls `body` for each element, two at a time.
///
/// - Returns: The results in the order of the elements.
/// - Throws: After all calls, the error of the first element that has one.
func inPairs<Element: Sendable, Outcome: Sendable>(
    _ elements: [Element],
    _ body: @escaping @Sendable (Element) throws -> Outcome
) throws -> [Outcome] {
    let outcomes = Guarded([Result<Outcome, any Error>?](repeating: nil, count: elements.count))
    let waiting = Guarded(elements.indices)
    concurrently(2) { _ in
        while let index = waiting.withLock({ $0.popFirst() }) {
            let outcome = Result { try body(elements[index]) }
            outcomes.withLock { $0[index] = outcome }
        }
    }
    return try outcomes.withLock { try $0.map { try $0!.get() } }
}
