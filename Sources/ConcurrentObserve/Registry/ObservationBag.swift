// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// Keeps tokens and ends their observations together. Releasing the bag ends all its observations.
/// (P10)
///
/// Any thread may use it at any time, also inside a callback. If only one thread keeps the tokens,
/// a `Set` or an array of tokens is sufficient.
public final class ObservationBag: @unchecked Sendable {
    // Unchecked: `tokens` is guarded by `lock`.
    private let lock = Lock()
    private var tokens: [ObservationToken] = []

    /// Makes an empty bag.
    public init() { Fork.noteUse() }

    /// The number of tokens in the bag, including those of ended observations.
    public var count: Int { lock.withLock { tokens.count } }

    /// Whether the bag has no tokens.
    public var isEmpty: Bool { count == 0 }

    /// Adds a token to the bag.
    public func insert(_ token: ObservationToken) { lock.withLock { tokens.append(token) } }

    /// Ends all observations, as `ObservationToken.cancel()` does for each, and releases the
    /// tokens. (P8)
    public func cancelAll() {
        for token in take() { token.cancel() }
    }

    /// Ends all observations, releases the tokens, and blocks the thread until none of their
    /// callbacks runs and their closures are destroyed. (P9)
    ///
    /// - Returns: `.finished`. Inside a callback the call does not wait, and returns `.deferred`.
    @available(*, noasync, message: "write await bag.cancelAllAndWait()")
    @discardableResult
    public func cancelAllAndWaitBlocking() -> WaitOutcome {
        let tokens = take()
        for token in tokens { token.cancel() }
        var outcome = WaitOutcome.finished
        for token in tokens where token.cancelAndWaitBlocking() == .deferred { outcome = .deferred }
        return outcome
    }

    /// Ends all observations, releases the tokens, and suspends until none of their callbacks runs
    /// and their closures are destroyed. (P9)
    ///
    /// - Returns: `.finished`.
    @discardableResult
    public func cancelAllAndWait() async -> WaitOutcome {
        let tokens = take()
        for token in tokens { token.cancel() }
        for token in tokens { await token.cancelAndWait() }
        return .finished
    }

    /// Empties the bag under the lock, and returns the tokens. The caller releases them outside the
    /// lock.
    private func take() -> [ObservationToken] {
        lock.withLock {
            defer { tokens = [] }
            return tokens
        }
    }
}

extension ObservationToken {
    /// Adds the token to a bag that keeps it.
    public func store(in bag: ObservationBag) { bag.insert(self) }
}
