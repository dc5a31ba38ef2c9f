// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// Records the observations of one test, or of the process, until they have finished (until their
/// closures are destroyed).
///
/// The product `ConcurrentObserveTesting` begins a scope for a test. While no scope exists, a
/// registration loads a flag and does nothing else. An observation belongs to the scope of the task
/// that makes it. Code that runs outside tasks, for example on a queue, has no task-local scope.
/// Its observations belong to the only scope that exists; if there are several, they are not
/// recorded.
///
/// The product `ConcurrentObserveInspection` begins a scope of the process, to which every
/// observation belongs as well.
package final class ObservationScope: @unchecked Sendable {
    // Unchecked: `made` is guarded by `Scopes.shared.lock`.

    /// The scope of the calling task.
    @TaskLocal package static var current: ObservationScope?

    /// The number of scopes that have begun and not ended.
    private static let count = Atomic<Int>(0)
    /// The number of the process's scope, counted from 1; 0 while there is none.
    private static let processNumber = Atomic<UInt>(0)

    /// Returns a description of the code that makes an observation, for the report.
    private let origin: @Sendable () -> any Sendable
    fileprivate var made: [UInt: MadeObservation] = [:]
    private var lastNumber = 0

    /// Makes a scope, which does not record yet.
    ///
    /// - Parameter origin: Returns a description of the code that makes an observation. It is
    ///   called on the thread that makes the observation, before it is registered, where user code
    ///   may run. It must not begin an observation.
    package init(origin: @escaping @Sendable () -> any Sendable) { self.origin = origin }

    /// Begins to record observations.
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

    /// Begins to record the observations of the whole process, unless a scope does so already.
    /// Returns true if this scope has begun.
    package func beginForProcess() -> Bool {
        Scopes.withShared { shared in
            guard shared.process == nil else { return false }
            (shared.process, shared.lastProcessNumber) = (self, shared.lastProcessNumber + 1)
            // Relaxed, both: as above.
            Self.processNumber.store(shared.lastProcessNumber, ordering: .relaxed)
            Self.count.add(1, ordering: .relaxed)
            return true
        }
    }

    /// Ends the recording of the process's observations, if there is one.
    package static func endForProcess() {
        // Released under no lock.
        let ended = Scopes.withShared { shared -> [UInt: MadeObservation] in
            guard let process = shared.process.take() else { return [:] }
            // Relaxed, both: as above.
            processNumber.store(0, ordering: .relaxed)
            count.subtract(1, ordering: .relaxed)
            defer { process.made = [:] }
            return process.made
        }
        withExtendedLifetime(ended) {}
    }

    /// The process's scope, if there is one.
    package static var ofProcess: ObservationScope? { Scopes.withShared { $0.process } }

    /// The observations that have not finished, in the order in which they were made. The observers
    /// that a path, a group or a mailbox has at its sources are included.
    package var observations: [MadeObservation] {
        Scopes.withShared { _ in made.values.filter { !$0.observer.isFinished } }.sorted { $0.number < $1.number }
    }

    /// Whether a scope of a test has begun and not ended.
    package static var exists: Bool { Scopes.withShared { !$0.scopes.isEmpty } }

    /// The only scope of a test; nil if there are several, or none.
    package static var only: ObservationScope? {
        Scopes.withShared { $0.scopes.count == 1 ? $0.scopes[0] : nil }
    }
}

/// An observation that a scope has recorded.
package struct MadeObservation: Sendable {
    let observer: Observer
    let number: Int
    /// The type of the source's values or events; nil if the source is a list that only the library
    /// uses.
    let value: (any Sendable.Type)?
    /// The description that the scope's `origin` returned.
    package let origin: any Sendable

    /// Whether the observation has not ended. If its observer feeds another observation (see
    /// `Observer.feed`), that observation must not have ended, either: a mailbox, a path or a group
    /// may keep its observer at a source active until the last callback has returned.
    package var isActive: Bool { observer.isActive && observer.counted != nil }

    /// Whether the program made the observation. False if the library made it for another
    /// observation, such as the observation of a path.
    package var isOfProgram: Bool { !observer.isForeign && observer.counted === observer }

    /// The label of the observation, or, if it has none, of its source; empty if neither has a
    /// label.
    package var label: String { LabelledObservations.label(of: observer) ?? observer.core.label }
}

// Called at each registration.
extension ObservationScope {
    static var isRecording: Bool {
        // Relaxed: a thread that is ordered after `begin()` sees the count; any other thread may
        // record or not.
        count.load(ordering: .relaxed) != 0
    }

    /// The number of the process's scope; 0 while there is none.
    static var recordingNumber: UInt {
        // Relaxed: as above.
        processNumber.load(ordering: .relaxed)
    }

    /// Records an observer that is about to be registered, if a scope exists. Must be called where
    /// user code may run: a scope may read the user's clock.
    @inline(__always)
    static func recordIfNeeded(_ observer: Observer, of value: (any Sendable.Type)?) {
        if isRecording { record(observer, of: value) }
    }

    @inline(never)
    private static func record(_ observer: Observer, of value: (any Sendable.Type)?) {
        (current ?? only)?.record(observer, of: value)
        ofProcess?.record(observer, of: value)
    }

    private func record(_ observer: Observer, of value: (any Sendable.Type)?) {
        let (origin, address) = (origin(), observer.address)
        Scopes.withShared { _ in
            lastNumber += 1
            made[address] = MadeObservation(observer: observer, number: lastNumber, value: value, origin: origin)
        }
        // The listener runs before the observer is recycled for another observation.
        if observer.whenFinished({ [self] _ in forget(address) }) != nil { forget(address) }
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
    var process: ObservationScope?
    var lastProcessNumber: UInt = 0

    private init() {}

    static func withShared<Result>(_ body: (Scopes) -> Result) -> Result {
        shared.lock.withLock { body(shared) }
    }
}
