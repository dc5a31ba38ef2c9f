// SPDX-License-Identifier: Apache-2.0

/// The labels of the observations that have one and whose closures are not destroyed, by their
/// observers' addresses: a frame that calls one knows no more of it.
internal final class LabelledObservations: @unchecked Sendable {
    // Unchecked: `labels` is guarded by `lock`.
    private static let shared = LabelledObservations()

    private let lock = ForkAwareLock()
    /// Empty for an observation that had a label: an entry stays until the observation's end, since
    /// that has one listener for it.
    private var labels: [UInt: String] = [:]

    private init() { Fork.hold(lock) {} }

    static func label(of observer: Observer) -> String? { label(ofObserverAt: observer.address) }

    /// - Complexity: O(1).
    static func label(ofObserverAt address: UInt) -> String? {
        withLabels { $0[address] }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Gives an observation a label, or takes it away with an empty one. Any thread, under no lock.
    static func set(_ label: String, for observer: Observer) {
        let address = observer.address
        let isNew = withLabels { labels -> Bool in
            let isNew = labels[address] == nil
            if !isNew || !label.isEmpty { labels[address] = label }
            return isNew && !label.isEmpty
        }
        guard isNew else { return }
        // Before the observer is recycled for another observation.
        if observer.whenFinished({ _ in forget(address) }) != nil { forget(address) }
    }

    private static func forget(_ address: UInt) { withLabels { _ = $0.removeValue(forKey: address) } }

    private static func withLabels<Result>(_ body: (inout [UInt: String]) -> Result) -> Result {
        // Behind the gate: a thread that a fork catches in the middle of the first use would leave
        // `shared` half made in the child.
        ForkGate.pass { shared.lock.withLock { body(&shared.labels) } }
    }
}

extension ObservationToken {
    /// Names the observation in diagnostics; empty unless it is set. Any thread.
    ///
    /// ``ConcurrentObserveDiagnostics/callbacks(runningFor:)`` and
    /// ``ConcurrentObserveDiagnostics/largestMailboxes(_:)`` report it. It is forgotten when the
    /// observation has ended and its closure is destroyed.
    public var label: String {
        get { LabelledObservations.label(of: observer) ?? "" }
        set { LabelledObservations.set(newValue, for: observer) }
    }
}
