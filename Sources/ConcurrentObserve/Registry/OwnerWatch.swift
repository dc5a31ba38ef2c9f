// SPDX-License-Identifier: Apache-2.0

/// The registries that have owner-bound observers, so that `drain` can find dead owners everywhere.
/// (P13)
internal final class OwnerWatch: @unchecked Sendable {
    // Unchecked: `cores` is guarded by `lock`.
    static let shared = OwnerWatch()

    private struct WeakCore { weak let core: RegistryCore? }

    private let lock = ForkAwareLock()
    private var cores: [ObjectIdentifier: WeakCore] = [:]

    private init() { Fork.hold(lock) {} }

    /// Makes the runtime create the types that the watch needs. Called inside the fork gate; see
    /// `KnownTypes`.
    static func makeTypes() {
        shared.lock.withLock {
            let name = ObjectIdentifier(shared)
            shared.cores[name] = WeakCore(core: nil)
            shared.cores.removeValue(forKey: name)
        }
        sweep()
    }

    /// Called under the core's lock. This lock is taken inside that lock, never the other way
    /// round.
    func add(_ core: RegistryCore) { lock.withLock { cores[ObjectIdentifier(core)] = WeakCore(core: core) } }
    func remove(_ core: RegistryCore) { _ = lock.withLock { cores.removeValue(forKey: ObjectIdentifier(core)) } }

    /// Ends every observation that is bound to `owner`, whatever it observes.
    ///
    /// - Complexity: O(owner-bound registries and their observers).
    static func removeAll(boundTo owner: AnyObject) {
        let watched = ForkGate.pass { shared.lock.withLock { shared.cores.values.compactMap(\.core) } }
        for core in watched { core.removeAll(boundTo: owner) }
    }

    /// Ends every observation whose owner is dead.
    ///
    /// - Complexity: O(owner-bound registries and their observers).
    static func sweep() {
        // Inside the gate: if a fork came in the middle of the first use, `shared` would be half
        // initialized in the child.
        let watched = ForkGate.pass { shared.lock.withLock { shared.cores.values.compactMap(\.core) } }
        for core in watched { core.sweepOwners() }
    }
}
