// SPDX-License-Identifier: Apache-2.0

/// The registries and properties that have a label. Diagnostics use the labels to name the source
/// of a callback.
internal final class LabelledRegistries: @unchecked Sendable {
    // Unchecked: `cores` and `pruningCount` are guarded by `lock`.
    private static let shared = LabelledRegistries()

    private struct WeakCore { weak let core: RegistryCore? }

    private let lock = Lock()
    private var cores: [WeakCore] = []
    /// When there are this many entries, the entries of dead registries are removed. It is twice
    /// the number that was alive the last time.
    private var pruningCount = 64

    private init() {}

    /// Adds a registry, without retaining it. Any thread, under no lock.
    ///
    /// - Complexity: O(1) amortised.
    static func add(_ core: RegistryCore) { withCores { $0.append(WeakCore(core: core)) } }

    /// Returns the label of the registry that has the observer at `address` in its table; nil if no
    /// labelled registry has it.
    ///
    /// - Complexity: O(labelled registries and their observers).
    static func label(ofObserverAt address: UInt) -> String? {
        withCores { $0.compactMap(\.core) }.first { $0.has(observerAt: address) }?.label
    }

    private static func withCores<Result>(_ body: (inout [WeakCore]) -> Result) -> Result {
        shared.lock.withLock {
            if shared.cores.count >= shared.pruningCount {
                shared.cores.removeAll { $0.core == nil }
                shared.pruningCount = max(64, 2 * shared.cores.count)
            }
            return body(&shared.cores)
        }
    }
}
