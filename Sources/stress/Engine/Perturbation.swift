// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The kinds of delays and faults that disturb the threads under test.
struct PerturbationKinds: OptionSet, Sendable {
    let rawValue: Int
    /// Gives the processor away at injection points.
    static let yield = PerturbationKinds(rawValue: 1)
    /// Spins and sleeps at injection points.
    static let stall = PerturbationKinds(rawValue: 2)
    /// Binds some threads to a core.
    static let affinity = PerturbationKinds(rawValue: 4)

    /// Stops all threads together, and lets them go together, twenty times a second.
    static let stutter = PerturbationKinds(rawValue: 8)
    /// Takes a fifth of its time from one thread of each round.
    static let starve = PerturbationKinds(rawValue: 16)
    /// Stops one thread for 300 ms, in few rounds.
    static let long = PerturbationKinds(rawValue: 32)
    /// Starts three times as many threads.
    static let crowd = PerturbationKinds(rawValue: 64)
    /// Moves threads from core to core while they run.
    static let rotate = PerturbationKinds(rawValue: 128)

    /// Forks the process where a thread stands at an injection point; the child reads. See
    /// `ReadableValues`.
    static let fork = PerturbationKinds(rawValue: 256)
    /// Refuses the library threads, a few times in a row.
    static let noThread = PerturbationKinds(rawValue: 512)
    /// Delays membarrier.
    static let lateBarrier = PerturbationKinds(rawValue: 1024)
    /// Makes every deinitialiser that the library runs take 2 ms.
    static let slowDeinit = PerturbationKinds(rawValue: 2048)
    /// Blocks every deinitialiser that the library runs for as long as a round's load takes.
    static let stuckDeinit = PerturbationKinds(rawValue: 4096)
    /// Has membarrier fail: for a moment, or until the process registers for it again.
    static let failBarrier = PerturbationKinds(rawValue: 8192)

    /// Delays, each by itself.
    static let delays: [(name: String, kind: PerturbationKinds)] = [
        ("yield", .yield), ("stall", .stall), ("affinity", .affinity), ("stutter", .stutter), ("starve", .starve),
        ("long", .long), ("crowd", .crowd), ("rotate", .rotate),
    ]
    /// The faults of the system or of a user's deinitialiser, each by itself.
    static let singleFaults: [(name: String, kind: PerturbationKinds)] = [
        ("fork", .fork), ("no-thread", .noThread), ("late-barrier", .lateBarrier), ("fail-barrier", .failBarrier),
        ("slow-deinit", .slowDeinit), ("stuck-deinit", .stuckDeinit),
    ]
    static let names = delays + singleFaults

    /// Every delay.
    static let all = PerturbationKinds(delays.map(\.kind))
    /// Every fault.
    static let faults = PerturbationKinds(singleFaults.map(\.kind))

    /// The kinds that act where an operation begins.
    fileprivate static let atSteps: PerturbationKinds = [.rotate, .stutter, .starve, .long]

    /// The names of those in the set.
    var list: [String] { Self.names.filter { contains($0.kind) }.map(\.name) }
}

/// Delays threads at two injection points, chosen for every round from the seed, and where their
/// operations begin.
///
/// Its dice are not the workload's: how often a thread gets to a point depends on the schedule,
/// what it does next must not.
final class Perturbation: Sendable {
    let kinds: PerturbationKinds
    /// Indices of the hot points. The library's own threads read them while a round sets new ones.
    private let firstHot = Atomic<Int>(0)
    private let secondHot = Atomic<Int>(0)
    /// The present scenario's kinds, the round's thread that starves, and so on; relaxed, all: a
    /// thread that still sees the last round's is as good.
    private let active = Atomic<Int>(0)
    private let victim = Atomic<Int>(0)
    private let longStallsLeft = Atomic<Int>(0)
    private let isResting = Atomic<Bool>(false)
    private let nextLibraryDelay = Atomic<UInt64>(0)

    /// A point that is hot in every round, if any.
    private let fixedPoint: String?

    /// The faults; nil if none may happen.
    let faults: Faults?

    /// Make one before threads under test run, and keep it for the run.
    init(_ kinds: PerturbationKinds, fixedPoint: String? = nil) {
        self.kinds = kinds
        self.fixedPoint = fixedPoint
        faults = kinds.isDisjoint(with: .faults) ? nil : Faults()
        #if INSTRUMENTED
        unsafe Instrumentation.snapshotIsHeld = { Worker.current?.snapshotsHeldOff &+= 1 }
        if let faults {
            unsafe Instrumentation.refusesThread = { faults.refusesThread() }
            unsafe Instrumentation.barrierFault = { faults.barrierError(isRegistration: $0) }
        }
        guard faults != nil || !kinds.isDisjoint(with: [.yield, .stall]) else { return }
        unsafe Instrumentation.perturbation = { [self] point in Realtime.unwatched { reached(point) } }
        #endif
    }

    /// Chooses the points, the faults, and the thread that suffers, for a round.
    func prepare(
        seed: UInt64,
        excluding excluded: PerturbationKinds = [],
        threads: Int,
        round: Int = 0,
        length: Duration = .zero,
        _ violations: Violations? = nil
    ) {
        var generator = Generator(seed: seed, stream: 0xBEEF)
        #if INSTRUMENTED
        let fixed = Instrumentation.points.firstIndex { $0.description == fixedPoint }
        // Relaxed: a thread that still sees the last round's points is as good.
        firstHot.store(fixed ?? generator.below(Instrumentation.points.count), ordering: .relaxed)
        secondHot.store(generator.below(Instrumentation.points.count), ordering: .relaxed)
        #endif
        victim.store(generator.below(threads), ordering: .relaxed)
        longStallsLeft.store(generator.oneIn(8) ? 1 : 0, ordering: .relaxed)
        active.store(kinds.subtracting(excluded).rawValue, ordering: .relaxed)
        isResting.store(false, ordering: .relaxed)
        faults?.prepare(kinds.subtracting(excluded), seed: seed, round: round, length, violations)
    }

    /// The round's threads have ended. The library's threads finish the work that is left with few
    /// delays: on a busy machine each yield costs a time slice, and thousands of deliveries may be
    /// left.
    func rest() {
        isResting.store(true, ordering: .relaxed)
        faults?.rest()
    }

    /// Places a thread that starts.
    func threadStarted(_ worker: Worker) {
        guard kinds.contains(.affinity), worker.dice.oneIn(3) else { return }
        place(worker)
    }

    private func place(_ worker: Worker) {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        JoinableThread.bind(toCore: worker.dice.below(min(cores, 64)))
    }

    /// Called where a thread's operation begins.
    @inline(__always)
    func reachedStep(_ worker: Worker, at now: UInt64) {
        let active = PerturbationKinds(rawValue: active.load(ordering: .relaxed))
        if !active.isDisjoint(with: .atSteps) { disturb(worker, at: now, active) }
    }

    private func disturb(_ worker: Worker, at now: UInt64, _ active: PerturbationKinds) {
        let dice = worker.dice.next()
        if active.contains(.rotate), dice % 1_024 == 0 { place(worker) }
        if active.contains(.stutter) {
            let phase = now % 50_000_000
            if phase < 5_000_000 { usleep(UInt32((5_000_000 - phase) / 1_000)) }
        }
        if active.contains(.starve), worker.index == victim.load(ordering: .relaxed), now > worker.nextStarvation {
            usleep(2_000)
            worker.nextStarvation = nanoseconds() + 8_000_000
        }
        if active.contains(.long), dice % 256 == 1, longStallsLeft.load(ordering: .relaxed) > 0,
            longStallsLeft.exchange(0, ordering: .relaxed) > 0
        {
            worker.note("stalled for 300 ms", worker.operations)
            usleep(300_000)
        }
    }

    #if INSTRUMENTED
    private func reached(_ point: StaticString) {
        faults?.reached(point)
        let points = Instrumentation.points
        guard
            points[firstHot.load(ordering: .relaxed)].isSame(as: point)
                || points[secondHot.load(ordering: .relaxed)].isSame(as: point)
        else { return }
        // The library's threads have no worker: they take their dice from the clock.
        let (worker, now) = (Worker.current, nanoseconds())
        let dice = worker?.dice.next() ?? now &* 0x9E37_79B9_7F4A_7C15 >> 20
        if let faults, faults.forks(at: dice >> 32) { return }
        if isResting.load(ordering: .relaxed), (dice >> 40) % 16 != 0 { return }
        guard now >= worker?.nextDelay ?? nextLibraryDelay.load(ordering: .relaxed) else { return }
        delay(dice)
        // On a busy machine a yield costs many time slices. A quarter of a thread's time is spent
        // so at most.
        let end = nanoseconds()
        guard end - now > 500_000 else { return }
        let next = end + 3 * (end - now)
        if let worker { worker.nextDelay = next } else { nextLibraryDelay.store(next, ordering: .relaxed) }
    }

    private func delay(_ dice: UInt64) {
        let choice = dice % 100
        let dice = dice / 100
        if kinds.contains(.stall) {
            switch choice {
            case 0..<20: return spin(nanoseconds: 100 + dice % 2_000)
            case 20..<23: return spin(nanoseconds: 20_000 + dice % 30_000)
            case 23..<25: return void(usleep(50 + UInt32(dice % 30)))
            case 25 where dice % 2_000 == 0: return void(usleep(100_000))
            default: break
            }
        }
        if kinds.contains(.yield), choice >= 80 { sched_yield() }
    }
    #endif
}

/// Drops a result.
private func void(_: some Any) {}
