// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The observations of one test that have not finished: their closures are not destroyed.
///
/// The product `ConcurrentObserveTesting` begins a scope for a test. While no scope exists, a
/// registration loads a flag and does nothing else. An observation belongs to the scope of the task
/// that makes it. A thread without a task-local scope, such as one of a queue, records in the only
/// scope there is; if there are several, the observation is not recorded.
package final class ObservationScope: @unchecked Sendable {
    // Unchecked: `made` is guarded by `Scopes.shared.lock`.

    /// The scope of the calling task.
    @TaskLocal package static var current: ObservationScope?

    /// The number of scopes that have begun and not ended.
    private static let count = Atomic<Int>(0)

    /// Describes who makes an observation, for the report.
    private let origin: @Sendable () -> any Sendable
    fileprivate var made: [UInt: MadeObservation] = [:]
    private var lastNumber = 0

    /// - Parameter origin: Called on the thread that makes an observation, under the lock of its
    ///   property. It uses no property, and waits for no other thread.
    package init(origin: @escaping @Sendable () -> any Sendable) { self.origin = origin }

    /// Begins to record.
    package func begin() {
        Scopes.withShared { $0.scopes.append(self) }
        // Relaxed: a thread that is ordered after the call sees the count; any other thread may
        // record or not.
        Self.count.add(1, ordering: .relaxed)
    }

    /// Ends the recording. The observations that were made stay known until they finish.
    package func end() {
        // Relaxed: as above.
        Self.count.subtract(1, ordering: .relaxed)
        Scopes.withShared { $0.scopes.removeAll { $0 === self } }
    }

    /// The observations that have not finished, in the order in which they were made. A path, a
    /// group and a mailbox have observers of their own, which are here, too.
    package var observations: [MadeObservation] {
        Scopes.withShared { _ in made.values.filter { !$0.observer.isFinished } }.sorted { $0.number < $1.number }
    }

    /// Whether a scope has begun and not ended.
    package static var exists: Bool { isRecording }

    /// The only scope there is; nil if there are several, or none.
    package static var only: ObservationScope? {
        Scopes.withShared { $0.scopes.count == 1 ? $0.scopes[0] : nil }
    }
}

/// One of the observations of a scope.
package struct MadeObservation: Sendable {
    let observer: Observer
    let number: Int
    /// The description that the scope's `origin` returned.
    package let origin: any Sendable

    /// Whether the observation has not ended. The observer of a mailbox, a path or a group on a
    /// source stays active while the last callback runs. Therefore the observation that it feeds
    /// decides.
    package var isActive: Bool { observer.isActive && observer.counted != nil }

    /// The label of the observation, or, if it has none, of its source; empty if neither has.
    package var label: String { LabelledObservations.label(of: observer) ?? observer.core.label }
}

// Called at each registration.
extension ObservationScope {
    static var isRecording: Bool {
        // Relaxed: a thread that is ordered after `begin()` sees the count; any other thread may
        // record or not.
        count.load(ordering: .relaxed) != 0
    }

    /// Records an observer that is about to be registered. The caller holds no lock but the
    /// property's mutation lock.
    @inline(never)
    static func record(_ observer: Observer) {
        guard let scope = current ?? only else { return }
        let (origin, address) = (scope.origin(), observer.address)
        Scopes.withShared { _ in
            scope.lastNumber += 1
            scope.made[address] = MadeObservation(observer: observer, number: scope.lastNumber, origin: origin)
        }
        // The listener runs before the observer is recycled for another observation.
        if observer.whenFinished({ _ in scope.forget(address) }) != nil { scope.forget(address) }
    }

    private func forget(_ address: UInt) {
        // Released under no lock.
        let forgotten = Scopes.withShared { _ in made.removeValue(forKey: address) }
        withExtendedLifetime(forgotten) {}
    }
}

/// The scopes that have begun and not ended.
private final class Scopes: @unchecked Sendable {
    // Unchecked: guarded by `lock`.
    private static let shared = Scopes()

    private let lock = Lock()
    var scopes: [ObservationScope] = []

    private init() {}

    static func withShared<Result>(_ body: (Scopes) -> Result) -> Result {
        shared.lock.withLock { body(shared) }
    }
}
