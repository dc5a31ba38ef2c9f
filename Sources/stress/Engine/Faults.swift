// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Makes the system and users' deinitialisers fail while a scenario is under load: `--perturb
/// faults`.
///
/// The seed chooses the faults of each round. Some bounds are not checked under faults, so every
/// fourth round has none. No fault happens at rest, where all counts must be right again.
final class Faults: RoundFaults {
    /// The invariants that the faults check by themselves.
    static let invariants = ["P9.barrier-repeated", "P18.child-reads"]

    /// Counts the faults of this process. A run without a fault shows nothing about faults.
    enum Count {
        fileprivate static let (forks, refusals) = (Tally(), Tally())
        fileprivate static let (lateBarriers, failedBarriers) = (Tally(), Tally())
        fileprivate static let (slowDeinits, stuckDeinits) = (Tally(), Tally())

        static var text: String {
            """
            \(forks.value) forks, \(refusals.value) threads refused, \(lateBarriers.value) late barriers, \
            \(failedBarriers.value) failed, \(slowDeinits.value) slow deinits, \(stuckDeinits.value) stuck
            """
        }
    }

    /// The faults of the round, and whether its load has ended. Relaxed, both: the library's
    /// threads may read those of the last round.
    private let active = Atomic<Int>(0)
    private let isAtRest = Atomic<Bool>(true)
    /// The time for which deinitialisers are blocked, from the first one on. `release` is the end
    /// of that time, or 0 before the first one. Relaxed: as above.
    private let patience = Atomic<UInt64>(0)
    private let release = Atomic<UInt64>(0)
    /// Whether the process has lost its registration for membarrier. Every call then fails until
    /// the process registers again. Relaxed: a call at the same moment may succeed.
    private let isUnregistered = Atomic<Bool>(false)
    /// A mark for each thread. It is set by a call that fails, and cleared by a call that succeeds.
    private let failedCall = ThreadMark()
    private let violations = Guarded<Violations?>(nil)
    /// The values that forked children read.
    private let values = ReadableValues()
    /// The earliest time of the next fork. Relaxed: the thread that exchanges it forks, and needs
    /// nothing from other threads.
    private let nextFork = Atomic<UInt64>(0)

    /// Whether faults happen in this round. Bounds of time and memory are then not checked.
    var isActive: Bool { active.load(ordering: .relaxed) != 0 }

    /// The faults that may happen now.
    private var kinds: PerturbationKinds {
        isAtRest.load(ordering: .relaxed) ? [] : PerturbationKinds(rawValue: active.load(ordering: .relaxed))
    }

    /// Chooses the faults of a round.
    ///
    /// - Parameter round: The number of rounds of the scenario before this one.
    func prepare(
        _ allowed: PerturbationKinds,
        seed: UInt64,
        round: Int,
        _ length: Duration,
        _ violations: Violations?
    ) {
        var generator = Generator(seed: seed, stream: 0xFA17)
        var chosen: PerturbationKinds = []
        let candidates = PerturbationKinds.singleFaults.map(\.kind).filter(allowed.contains)
        if !candidates.isEmpty, round % 4 != 3 {
            for kind in candidates where generator.oneIn(2) { chosen.insert(kind) }
            if chosen.isEmpty { chosen = candidates[generator.below(candidates.count)] }
        }
        self.violations.withLock { $0 = violations }
        patience.store(UInt64(length.seconds * 1e9), ordering: .relaxed)
        release.store(0, ordering: .relaxed)
        active.store(chosen.rawValue, ordering: .relaxed)
        isAtRest.store(false, ordering: .relaxed)
    }

    /// Ends the faults of the round, because its load has ended.
    func rest() { isAtRest.store(true, ordering: .relaxed) }

    // MARK: Where they strike

    /// Called when a thread has come to an injection point, also if the point is not hot.
    func reached(_ point: StaticString) {
        #if INSTRUMENTED
        if failedCall.isSet {
            failedCall.isSet = false
            violations.withLock { $0 }?.report(
                "P9.barrier-repeated",
                "a thread has come to \(point) after a call of membarrier that failed and was not repeated"
            )
        }
        let kinds = kinds
        guard !kinds.isDisjoint(with: [.slowDeinit, .stuckDeinit, .lateBarrier]) else { return }
        if point.isSame(as: "barrier.heavy") {
            guard kinds.contains(.lateBarrier) else { return }
            let dice = nanoseconds() >> 8
            guard dice % 8 == 0 else { return }
            Count.lateBarriers.increment()
            usleep(200 + UInt32(dice % 3_000))
        } else if point.isSame(as: "destroy.item") {
            delayDeinit(kinds)
        }
        #endif
    }

    /// Delays or blocks a thread that is about to run a deinitialiser.
    private func delayDeinit(_ kinds: PerturbationKinds) {
        if kinds.contains(.stuckDeinit) {
            let now = nanoseconds()
            let planned = now + patience.load(ordering: .relaxed)
            let first = release.compareExchange(expected: 0, desired: planned, ordering: .relaxed)
            let end = first.exchanged ? planned : first.original
            guard now < end else { return }
            Count.stuckDeinits.increment()
            while nanoseconds() < end, !isAtRest.load(ordering: .relaxed) { usleep(2_000) }
        } else if kinds.contains(.slowDeinit) {
            Count.slowDeinits.increment()
            usleep(2_000)
        }
    }

    /// Returns true if a new thread of the library must be refused. It refuses three of four, so
    /// sometimes several in a row.
    func refusesThread() -> Bool {
        guard kinds.contains(.noThread), nanoseconds() >> 6 & 3 != 0 else { return false }
        Count.refusals.increment()
        return true
    }

    /// Returns the error with which the library's call of membarrier, or its registration for
    /// membarrier, must fail; 0 if it succeeds.
    func barrierError(isRegistration: Bool) -> Int32 {
        if isRegistration {
            isUnregistered.store(false, ordering: .relaxed)
            return 0
        }
        var error = isUnregistered.load(ordering: .relaxed) ? EPERM : 0
        let dice = nanoseconds() >> 8
        if error == 0, kinds.contains(.failBarrier), dice % 4 == 0 {
            // In half of the cases the kernel lacks memory for a moment. In the others the process
            // loses its registration.
            if dice / 4 % 2 == 0 { error = ENOMEM } else { error = EPERM }
            isUnregistered.store(error == EPERM, ordering: .relaxed)
        }
        if error != 0 { Count.failedBarriers.increment() }
        failedCall.isSet = error != 0
        return error
    }

    /// Sometimes forks the process at a hot point. The child reads.
    ///
    /// - Returns: Whether it has forked.
    func strikes(at dice: UInt64) -> Bool {
        guard kinds.contains(.fork), dice % 4 == 0 else { return false }
        let (now, next) = (nanoseconds(), nextFork.load(ordering: .relaxed))
        guard now >= next, nextFork.compareExchange(expected: next, desired: .max, ordering: .relaxed).exchanged
        else { return false }
        let end = ChildProcess.fork { values.areRight }
        Count.forks.increment()
        if end != .succeeded {
            violations.withLock { $0 }?.report("P18.child-reads", "a child that reads has \(end)")
        }
        // No fork for some time, so that the scenario makes progress.
        nextFork.store(nanoseconds() + 5_000_000, ordering: .relaxed)
        return true
    }
}

/// A flag for each thread.
private struct ThreadMark: Sendable {
    private let key: pthread_key_t

    init() {
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, nil) == 0 else { harnessFailure("no thread-specific key is left") }
        self.key = key
    }

    var isSet: Bool {
        get { unsafe pthread_getspecific(key) != nil }
        // Safe: compared with nil, never followed.
        nonmutating set { unsafe pthread_setspecific(key, newValue ? UnsafeRawPointer(bitPattern: 1) : nil) }
    }
}
