// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// What the system, and users' deinitialisers, do at their worst while a scenario is under load: `--perturb faults`.
///
/// Each round draws its faults from the seed; every fourth has none, so that what is not judged under faults is judged. Nothing goes wrong at rest, where all must come right again.
final class Faults: Sendable {
    /// What they find by themselves, beside what children do.
    static let invariants = ["P9.barrier-repeated"]

    /// What went wrong in this process: a run in which nothing did has proved nothing.
    struct Count: ~Copyable {
        static let shared = Count()

        fileprivate let forks = Atomic<Int>(0)
        fileprivate let refusals = Atomic<Int>(0)
        fileprivate let lateBarriers = Atomic<Int>(0)
        fileprivate let failedBarriers = Atomic<Int>(0)
        fileprivate let slowDeinits = Atomic<Int>(0)
        fileprivate let stuckDeinits = Atomic<Int>(0)

        private init() {}

        // Relaxed, all: statistics.
        var text: String {
            """
            \(forks.load(ordering: .relaxed)) forks, \(refusals.load(ordering: .relaxed)) threads refused, \
            \(lateBarriers.load(ordering: .relaxed)) late barriers, \(failedBarriers.load(ordering: .relaxed)) failed, \
            \(slowDeinits.load(ordering: .relaxed)) slow deinits, \(stuckDeinits.load(ordering: .relaxed)) stuck
            """
        }
    }

    /// The round's faults, and whether its load has ended. Relaxed, both: the library's threads may read the last round's.
    private let active = Atomic<Int>(0)
    private let isAtRest = Atomic<Bool>(true)
    /// For how long deinitialisers are stuck, from the first one on, and until when that is: 0 before. Relaxed: as above.
    private let patience = Atomic<UInt64>(0)
    private let release = Atomic<UInt64>(0)
    /// Whether the process has lost its registration for membarrier: until it registers again, every call fails. Relaxed: a call
    /// that just misses it succeeds.
    private let isUnregistered = Atomic<Bool>(false)
    /// Of each thread: set from a call that fails until one succeeds.
    private let failedCall = ThreadMark()
    private let violations = Guarded<Violations?>(nil)
    private let forker = Forker()

    /// Whether something may go wrong in this round, so that no bound against the clock, or of memory, is held.
    var isActive: Bool { active.load(ordering: .relaxed) != 0 }

    /// What may go wrong now.
    private var kinds: PerturbationKinds {
        isAtRest.load(ordering: .relaxed) ? [] : PerturbationKinds(rawValue: active.load(ordering: .relaxed))
    }

    /// Draws a round's faults.
    ///
    /// - Parameter round: Rounds of the scenario before this one.
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
        // Its child may start no threads under that.
        if Sanitizer.current == .thread { chosen.remove(.fork) }
        self.violations.withLock { $0 = violations }
        if chosen.contains(.fork) { forker.start(violations) }
        patience.store(UInt64(length.seconds * 1e9), ordering: .relaxed)
        release.store(0, ordering: .relaxed)
        active.store(chosen.rawValue, ordering: .relaxed)
        isAtRest.store(false, ordering: .relaxed)
    }

    /// The round's load has ended. Returns when no fork is under way.
    func rest() {
        isAtRest.store(true, ordering: .relaxed)
        forker.settle()
    }

    // MARK: Where they strike

    #if INSTRUMENTED
    /// A thread has come to an injection point, which need not be hot.
    func reached(_ point: StaticString) {
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
            Count.shared.lateBarriers.add(1, ordering: .relaxed)
            usleep(200 + UInt32(dice % 3_000))
        } else if point.isSame(as: "destroy.item") {
            delayDeinit(kinds)
        }
    }

    /// On a thread that is about to run a deinitialiser, marked as user code by what it does next.
    private func delayDeinit(_ kinds: PerturbationKinds) {
        if kinds.contains(.stuckDeinit) {
            let now = nanoseconds()
            let first = release.compareExchange(
                expected: 0,
                desired: now + patience.load(ordering: .relaxed),
                ordering: .relaxed
            )
            let end = first.exchanged ? now + patience.load(ordering: .relaxed) : first.original
            guard now < end else { return }
            Count.shared.stuckDeinits.add(1, ordering: .relaxed)
            while nanoseconds() < end, !isAtRest.load(ordering: .relaxed) { usleep(2_000) }
        } else if kinds.contains(.slowDeinit) {
            Count.shared.slowDeinits.add(1, ordering: .relaxed)
            usleep(2_000)
        }
    }
    #endif

    /// Where the library would start a thread: three of four are refused, so a few in a row.
    func refusesThread() -> Bool {
        guard kinds.contains(.noThread), nanoseconds() >> 6 & 3 != 0 else { return false }
        Count.shared.refusals.add(1, ordering: .relaxed)
        return true
    }

    /// What the library's call of membarrier, or its registration for it, fails with; 0 if it does not.
    func barrierError(isRegistration: Bool) -> Int32 {
        if isRegistration {
            isUnregistered.store(false, ordering: .relaxed)
            return 0
        }
        var error = isUnregistered.load(ordering: .relaxed) ? EPERM : 0
        let dice = nanoseconds() >> 8
        if error == 0, kinds.contains(.failBarrier), dice % 4 == 0 {
            // In half the cases the kernel is short of memory, and has some soon.
            if dice / 4 % 2 == 0 { error = ENOMEM } else { error = EPERM }
            isUnregistered.store(error == EPERM, ordering: .relaxed)
        }
        if error != 0 { Count.shared.failedBarriers.add(1, ordering: .relaxed) }
        failedCall.isSet = error != 0
        return error
    }

    /// At a hot point: has the process forked now and then while the calling thread stands there.
    ///
    /// - Returns: Whether it has stood there.
    func forks(at dice: UInt64) -> Bool {
        guard kinds.contains(.fork), dice % 4 == 0 else { return false }
        return forker.forkBeside()
    }
}

/// A thread that forks when another asks for it, and looks after the children, one at a time. At each fork a third changes a property.
///
/// The asking thread may hold a lock that `fork` needs: it stands still for a few milliseconds at most.
private final class Forker: Sendable {
    private enum Phase {
        static let free = 0
        static let asked = 1
        static let forked = 2
    }

    private let phase = Atomic<Int>(Phase.free)
    private let requests = Semaphore()
    private let violations = Guarded<Violations?>(nil)
    private let isStarted = Atomic<Bool>(false)

    func start(_ violations: Violations?) {
        self.violations.withLock { $0 = violations }
        guard !isStarted.exchange(true, ordering: .relaxed) else { return }
        let isPrepared = Semaphore()
        _ = Thread {
            // On this thread: a child must not trust what this thread was changing.
            ForkedChild.prepare()
            isPrepared.signal()
            while true {
                self.requests.wait()
                self.fork()
            }
        }
        // The round begins when its observations are gone: it counts those that are live.
        isPrepared.wait()
    }

    /// Asks for a fork unless one is under way; returns when it has happened, or soon.
    func forkBeside() -> Bool {
        // Acquire and release, both here and in fork(): the thread that asks has the phase until it is free again.
        guard
            phase.compareExchange(expected: Phase.free, desired: Phase.asked, ordering: .acquiringAndReleasing)
                .exchanged
        else { return false }
        requests.signal()
        let start = nanoseconds()
        while phase.load(ordering: .acquiring) == Phase.asked, nanoseconds() - start < 3_000_000 { usleep(50) }
        return true
    }

    private func fork() {
        let dice = Int(truncatingIfNeeded: nanoseconds() >> 8)
        let caught = Observed<UInt64>(0)
        let (inside, leave) = (Semaphore(), Semaphore())
        let changer = Thread {
            caught.modify { value in
                inside.signal()
                leave.wait()
                value += 1
            }
        }
        inside.wait()
        let noteFork = { self.phase.store(Phase.forked, ordering: .releasing) }
        // The last outlasts all that asks for a thread before the child waits for one.
        let refusals = [0, 1, 2, 5][dice % 4]
        let finding =
            dice / 4 % 8 == 0
            ? ForkedChild.runExit(isInCallback: false, forked: noteFork)
            : ForkedChild.run(refusing: refusals, caught, forked: noteFork)
        leave.signal()
        changer.join()
        Faults.Count.shared.forks.add(1, ordering: .relaxed)
        if let (invariant, message) = finding {
            violations.withLock { $0 }?.report(invariant, "\(message); \(refusals) threads were refused")
        }
        // The scenario goes on meanwhile.
        usleep(5_000)
        phase.store(Phase.free, ordering: .releasing)
    }

    func settle() { while phase.load(ordering: .acquiring) != Phase.free { usleep(500) } }
}

/// A flag of each thread's.
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
