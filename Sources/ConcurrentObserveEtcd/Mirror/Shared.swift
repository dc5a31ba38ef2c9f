// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve

/// A value under a lock that survives a fork, as a `Mutex` does not: an observed property, which
/// nothing observes.
final class Shared<Value: Sendable>: Sendable {
    private let property: Observed<Value>

    init(_ value: Value) { property = Observed(value) }

    /// Lends the value under the lock. The body must not use it through this object again.
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result { try property.modify(body) }
}
#endif
