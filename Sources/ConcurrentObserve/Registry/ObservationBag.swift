// SPDX-License-Identifier: Apache-2.0

/// Tokens that are kept, and ended, together: releasing the bag ends all its observations. (P10)
///
/// Any thread may use it at any time, also inside a callback; a `Set` or an array of tokens does as
/// well where one thread keeps them.
public final class ObservationBag: @unchecked Sendable {
    // Unchecked: `tokens` is guarded by `lock`.
    private let lock = Lock()
    private var tokens: [ObservationToken] = []

    /// Makes an empty bag.
    public init() {}

    /// How many tokens it keeps, those of ended observations included.
    public var count: Int { lock.withLock { tokens.count } }

    /// Whether it keeps none.
    public var isEmpty: Bool { count == 0 }

    /// Keeps a token.
    public func insert(_ token: ObservationToken) { lock.withLock { tokens.append(token) } }

    /// Ends all observations and releases the tokens, as `ObservationToken.cancel()` for each.
    /// (P8)
    public func cancelAll() {
        for token in take() { token.cancel() }
    }

    /// Ends all observations, releases the tokens, and waits until no callback of them runs and
    /// their closures are destroyed. (P9)
    ///
    /// - Returns: `.finished`; inside a callback `.deferred`, at once.
    @available(*, noasync, message: "write await bag.cancelAllAndWait()")
    @discardableResult
    public func cancelAllAndWaitBlocking() -> CancellationOutcome {
        let tokens = take()
        for token in tokens { token.cancel() }
        var outcome = CancellationOutcome.finished
        for token in tokens where token.cancelAndWaitBlocking() == .deferred { outcome = .deferred }
        return outcome
    }

    /// As the blocking form, but suspends. (P9)
    ///
    /// - Returns: `.finished`.
    @discardableResult
    public func cancelAllAndWait() async -> CancellationOutcome {
        let tokens = take()
        for token in tokens { token.cancel() }
        for token in tokens { await token.cancelAndWait() }
        return .finished
    }

    /// Decides under the lock what to release; releases it outside.
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
