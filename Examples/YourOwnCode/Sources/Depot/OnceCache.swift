// SPDX-License-Identifier: Apache-2.0

import StressKit
import Synchronization

/// Values by key. However many threads ask for a key at once, all get the same value.
public final class OnceCache<Value: Sendable>: Sendable {
    private let values = Mutex<[Int: Value]>([:])

    public init() {}

    public var count: Int { values.withLock { $0.count } }

    /// - Parameter make: Makes the value of a key that has none. Runs under no lock, so two threads
    ///   may make one at once.
    public func value(for key: Int, make: () -> Value) -> Value {
        if let value = values.withLock({ $0[key] }) { return value }
        let made = make()
        stressPoint("cache.made")
        return values.withLock { values in
            if let first = values[key] { return first }
            values[key] = made
            return made
        }
    }
}
