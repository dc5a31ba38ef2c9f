// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve

/// A value under a lock. The lock survives a fork, unlike the lock of a `Mutex`: it belongs to a
/// property that nothing observes.
final class Shared<Value: Sendable>: Sendable {
    private let property: Observed<Value>

    init(_ value: Value) { property = Observed(value) }

    /// Lends the value under the lock. The body must not use this object.
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result { try property.modify(body) }
}
#endif
