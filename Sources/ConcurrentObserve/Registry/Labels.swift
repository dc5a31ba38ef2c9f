// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// The labels of observations. Diagnostics find a label by the address of the observer, because a
/// thread's frame has only the address of the observer that is being called. A label is kept until
/// the observation's closure is destroyed.
internal final class LabelledObservations: @unchecked Sendable {
    // Unchecked: `labels` is guarded by `lock`.
    private static let shared = LabelledObservations()

    private let lock = Lock()
    /// The labels, by the observers' addresses. If the user has removed a label, its entry is an
    /// empty string. A listener of the observation removes the entry when the closure is destroyed.
    private var labels: [UInt: String] = [:]

    private init() {}

    static func label(of observer: Observer) -> String? { label(ofObserverAt: observer.address) }

    /// Returns the label of the observation whose observer is at `address`; nil if it has none.
    ///
    /// - Complexity: O(1).
    static func label(ofObserverAt address: UInt) -> String? {
        withLabels { $0[address] }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Sets the label of an observation; an empty label removes it. Any thread; the caller must
    /// hold no lock.
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
    /// The name of the observation in diagnostics; empty unless it is set. Any thread.
    ///
    /// ``ConcurrentObserveDiagnostics/callbacks(runningFor:)`` and
    /// ``ConcurrentObserveDiagnostics/largestMailboxes(_:)`` report the name. The library forgets
    /// it when the observation has ended and its closure is destroyed.
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
    /// When `cores` has this many entries, the entries of sources that are gone are removed. The
    /// number is then set to twice the number of entries that are left, but at least 64.
    private var pruningCount = 64

    private init() {}

    /// Adds the core (`RegistryCore`) of a registry or a property, without retaining it. Any
    /// thread; the caller must hold no lock.
    ///
    /// - Complexity: O(1) amortised.
    static func add(_ core: RegistryCore) { withCores { $0.append(WeakCore(core: core)) } }

    /// The cores of the registries and properties that have a label, unless they are freed.
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
