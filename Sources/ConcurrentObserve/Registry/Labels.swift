// SPDX-License-Identifier: Apache-2.0

/// The labels of observations whose closures are not destroyed, by their observers' addresses. A
/// frame only has the observer's address.
internal final class LabelledObservations: @unchecked Sendable {
    // Unchecked: `labels` is guarded by `lock`.
    private static let shared = LabelledObservations()

    private let lock = Lock()
    /// The labels, by the observers' addresses. If a label was removed, its entry is an empty
    /// string. The entry stays until the observation's end, because the observation has one
    /// listener that removes it.
    private var labels: [UInt: String] = [:]

    private init() {}

    static func label(of observer: Observer) -> String? { label(ofObserverAt: observer.address) }

    /// Returns the label of the observation; nil if it has none.
    ///
    /// - Complexity: O(1).
    static func label(ofObserverAt address: UInt) -> String? {
        withLabels { $0[address] }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Sets the label of an observation; an empty one removes it. Any thread, under no lock.
    static func set(_ label: String, for observer: Observer) {
        let address = observer.address
        let isNew = withLabels { labels -> Bool in
            let isNew = labels[address] == nil
            if !isNew || !label.isEmpty { labels[address] = label }
            return isNew && !label.isEmpty
        }
        guard isNew else { return }
        // The listener runs before the observer is recycled for another observation.
        if observer.whenFinished({ _ in forget(address) }) != nil { forget(address) }
    }

    private static func forget(_ address: UInt) { withLabels { _ = $0.removeValue(forKey: address) } }

    private static func withLabels<Result>(_ body: (inout [UInt: String]) -> Result) -> Result {
        shared.lock.withLock { body(&shared.labels) }
    }
}

extension ObservationToken {
    /// Names the observation in diagnostics; empty unless it is set. Any thread.
    ///
    /// ``ConcurrentObserveDiagnostics/callbacks(runningFor:)`` and
    /// ``ConcurrentObserveDiagnostics/largestMailboxes(_:)`` report it. The library forgets it when
    /// the observation has ended and its closure is destroyed.
    public var label: String {
        get { LabelledObservations.label(of: observer) ?? "" }
        set { LabelledObservations.set(newValue, for: observer) }
    }
}

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

    /// The registries and properties that have a label and have not ended.
    static var all: [RegistryCore] { withCores { $0.compactMap(\.core) } }

    /// Returns the label of the registry that has the observer at `address` in its table; nil if no
    /// labelled registry has it.
    ///
    /// - Complexity: O(labelled registries and their observers).
    static func label(ofObserverAt address: UInt) -> String? {
        all.first { $0.has(observerAt: address) }?.label
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
