// SPDX-License-Identifier: Apache-2.0

/// The registries and properties that have a label, by which diagnostics name the source of a
/// callback.
internal final class LabelledRegistries: @unchecked Sendable {
    // Unchecked: `cores` and `pruningCount` are guarded by `lock`.
    private static let shared = LabelledRegistries()

    private struct WeakCore { weak let core: RegistryCore? }

    private let lock = ForkAwareLock()
    private var cores: [WeakCore] = []
    /// With so many entries those of dead registries are removed: twice as many as were alive the
    /// last time.
    private var pruningCount = 64

    private init() { Fork.hold(lock) {} }

    /// Adds a registry, which is not retained. Any thread, under no lock.
    ///
    /// - Complexity: O(1) amortised.
    static func add(_ core: RegistryCore) { withCores { $0.append(WeakCore(core: core)) } }

    /// The label of the registry that has the observer at an address in its table; nil if none with
    /// a label has.
    ///
    /// - Complexity: O(labelled registries and their observers).
    static func label(ofObserverAt address: UInt) -> String? {
        withCores { $0.compactMap(\.core) }.first { $0.has(observerAt: address) }?.label
    }

    private static func withCores<Result>(_ body: (inout [WeakCore]) -> Result) -> Result {
        // Behind the gate: a thread that a fork catches in the middle of the first use would leave
        // `shared` half made in the child.
        ForkGate.pass {
            shared.lock.withLock {
                if shared.cores.count >= shared.pruningCount {
                    shared.cores.removeAll { $0.core == nil }
                    shared.pruningCount = max(64, 2 * shared.cores.count)
                }
                return body(&shared.cores)
            }
        }
    }
}
