// SPDX-License-Identifier: Apache-2.0

/// The registries that have owner-bound observers, so that `drain` can find dead owners everywhere.
/// (P13)
internal final class OwnerWatch: @unchecked Sendable {
    // Unchecked: `cores` is guarded by `lock`.
    static let shared = OwnerWatch()

    private struct WeakCore { weak let core: RegistryCore? }

    private let lock = Lock()
    private var cores: [ObjectIdentifier: WeakCore] = [:]

    private init() {}

    /// Called under the core's lock. This lock is taken inside that lock, never the other way
    /// round.
    func add(_ core: RegistryCore) { lock.withLock { cores[ObjectIdentifier(core)] = WeakCore(core: core) } }
    func remove(_ core: RegistryCore) { _ = lock.withLock { cores.removeValue(forKey: ObjectIdentifier(core)) } }

    /// Ends every observation that is bound to `owner`, whatever it observes.
    ///
    /// - Complexity: O(owner-bound registries and their observers).
    static func removeAll(boundTo owner: AnyObject) {
        let watched = shared.lock.withLock { shared.cores.values.compactMap(\.core) }
        for core in watched { core.removeAll(boundTo: owner) }
    }

    /// Ends every observation whose owner is dead.
    ///
    /// - Complexity: O(owner-bound registries and their observers).
    static func sweep() {
        let watched = shared.lock.withLock { shared.cores.values.compactMap(\.core) }
        for core in watched { core.sweepOwners() }
    }
}
