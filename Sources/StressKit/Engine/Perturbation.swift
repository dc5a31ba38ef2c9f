// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The kinds of delays that disturb the threads under test. The bits from 256 up belong to the
/// host.
public struct PerturbationKinds: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Gives the processor to other threads at hot points.
    public static let yield = PerturbationKinds(rawValue: 1)
    /// Spins and sleeps at hot points, for 0.1 µs to 100 ms.
    public static let stall = PerturbationKinds(rawValue: 2)
    /// Binds a third of the threads to a core.
    public static let affinity = PerturbationKinds(rawValue: 4)
    /// Stops all threads for 5 ms, twenty times a second, and lets them continue together.
    public static let stutter = PerturbationKinds(rawValue: 8)
    /// Takes a fifth of its time from one thread in each round.
    public static let starve = PerturbationKinds(rawValue: 16)
    /// Stops one thread for 300 ms, in one of eight rounds on average.
    public static let long = PerturbationKinds(rawValue: 32)
    /// Starts three times as many threads.
    public static let crowd = PerturbationKinds(rawValue: 64)
    /// Moves threads from core to core while they run.
    public static let rotate = PerturbationKinds(rawValue: 128)

    /// Makes the begin of each operation a point that may be hot.
    static let steps = PerturbationKinds(rawValue: 1 << 30)

    /// The kinds of delays with their names, one by one.
    package static let delays: [(name: String, kind: PerturbationKinds)] = [
        ("yield", .yield), ("stall", .stall), ("affinity", .affinity), ("stutter", .stutter), ("starve", .starve),
        ("long", .long), ("crowd", .crowd), ("rotate", .rotate),
    ]

    /// Every delay.
    public static let all = PerturbationKinds(delays.map(\.kind))

    /// The kinds that act where an operation begins.
    fileprivate static let atSteps: PerturbationKinds = [.rotate, .stutter, .starve, .long, .steps]
}

/// The faults of a host: they make calls fail and delay code while a scenario is under load.
package protocol RoundFaults: AnyObject, Sendable {
    /// Whether faults happen in this round. Bounds of time and memory are then not checked.
    var isActive: Bool { get }
    /// Chooses the faults of a round.
    ///
    /// - Parameter round: The number of rounds of the scenario before this one.
    func prepare(_ allowed: PerturbationKinds, seed: UInt64, round: Int, _ length: Duration, _ violations: Violations?)
    /// Ends the faults of the round, whose load has ended.
    func rest()
    /// Called when a thread has come to an injection point, also if the point is not hot.
    func reached(_ point: StaticString)
    /// May make a fault happen at a hot point, instead of a delay. Returns whether it has done so.
    func strikes(at dice: UInt64) -> Bool
}

/// Delays threads at two injection points and at the begin of their operations. The seed determines
/// the two points of each round.
///
/// Its random numbers are not those of the workload. The number of delays depends on the schedule;
/// the operations of a thread must not.
package final class Perturbation: Sendable {
    package let kinds: PerturbationKinds
    /// The address of the name of the first hot point. Other threads than the round's may read it
    /// while a round stores a new one.
    private let firstHot = Atomic<UInt>(0)
    private let secondHot = Atomic<UInt>(0)
    /// The kinds of the present scenario. Relaxed, for this and the following atomics: a thread
    /// that sees a new value late is disturbed a little differently.
    private let active = Atomic<Int>(0)
    private let victim = Atomic<Int>(0)
    private let longStallsLeft = Atomic<Int>(0)
    private let isResting = Atomic<Bool>(false)
    private let nextStrangerDelay = Atomic<UInt64>(0)

    private struct Points {
        var names: [StaticString]
        var seed: UInt64 = 0
    }

    private let points: Guarded<Points>
    /// The name of a point that is hot in every round; nil if there is none.
    private let fixedPoint: String?
    /// The faults; nil if none may happen.
    package let faults: (any RoundFaults)?

    /// Makes a perturbation. Call it before threads under test run, and use the object for the
    /// whole run.
    package init(
        _ kinds: PerturbationKinds,
        points: [StaticString] = [],
        fixedPoint: String? = nil,
        faults: (any RoundFaults)? = nil
    ) {
        (self.kinds, self.fixedPoint, self.faults, self.points) = (
            kinds, fixedPoint, faults, Guarded(Points(names: points))
        )
    }

    /// Chooses the points, the faults, and the thread that starves, for a round.
    package func prepare(
        seed: UInt64,
        excluding excluded: PerturbationKinds = [],
        threads: Int,
        round: Int = 0,
        length: Duration = .zero,
        _ violations: Violations? = nil
    ) {
        var generator = Generator(seed: seed, stream: 0xBEEF)
        points.withLock {
            $0.seed = seed
            choose(from: $0.names, &generator)
        }
        victim.store(generator.below(threads), ordering: .relaxed)
        longStallsLeft.store(generator.oneIn(8) ? 1 : 0, ordering: .relaxed)
        active.store(kinds.subtracting(excluded).rawValue, ordering: .relaxed)
        isResting.store(false, ordering: .relaxed)
        faults?.prepare(kinds.subtracting(excluded), seed: seed, round: round, length, violations)
    }

    /// Chooses two points, which may be the same.
    private func choose(from names: [StaticString], _ generator: inout Generator) {
        let drawn = (generator.below(max(1, names.count)), generator.below(max(1, names.count)))
        guard !names.isEmpty else { return }
        let fixed = names.first { $0.description == fixedPoint }
        // Relaxed: it does not matter if a thread still sees the points of the last round.
        firstHot.store(UInt(bitPattern: unsafe (fixed ?? names[drawn.0]).utf8Start), ordering: .relaxed)
        secondHot.store(UInt(bitPattern: unsafe names[drawn.1].utf8Start), ordering: .relaxed)
    }

    /// Adds a point at its first use. The hot points depend on the seed and on the set of points,
    /// not on the order in which threads reach them.
    func add(_ point: StaticString) {
        points.withLock { points in
            let name = point.description
            let place = points.names.firstIndex { $0.description >= name } ?? points.names.endIndex
            if place < points.names.endIndex, points.names[place].description == name { return }
            points.names.insert(point, at: place)
            var generator = Generator(seed: points.seed, stream: 0xBEEF)
            choose(from: points.names, &generator)
        }
    }

    /// Ends the delays of a round whose threads have ended. Other threads then finish the remaining
    /// work with few delays: on a busy machine each yield costs a time slice, and thousands of
    /// deliveries may be left.
    package func rest() {
        isResting.store(true, ordering: .relaxed)
        faults?.rest()
    }

    /// Binds a new thread to a core, if it is chosen for that.
    package func threadStarted(_ worker: Worker) {
        guard kinds.contains(.affinity), worker.dice.oneIn(3) else { return }
        place(worker)
    }

    private func place(_ worker: Worker) {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        JoinableThread.bind(toCore: worker.dice.below(min(cores, 64)))
    }

    /// Called when a thread begins an operation.
    @inline(__always)
    func reachedStep(_ worker: Worker, _ name: StaticString, at now: UInt64) {
        let active = PerturbationKinds(rawValue: active.load(ordering: .relaxed))
        if !active.isDisjoint(with: .atSteps) { disturb(worker, name, at: now, active) }
    }

    private func disturb(_ worker: Worker, _ name: StaticString, at now: UInt64, _ active: PerturbationKinds) {
        if active.contains(.steps) { UserPoints.reached(name, self) }
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

    /// Whether `point` is the hot point at the address `hot`.
    @inline(__always)
    private func isHot(_ point: StaticString, _ hot: UInt) -> Bool {
        // Safe: names are literals, which live as long as the program and end with a zero byte.
        guard let name = unsafe UnsafePointer<CChar>(bitPattern: hot) else { return false }
        let own = unsafe UnsafeRawPointer(point.utf8Start).assumingMemoryBound(to: CChar.self)
        return unsafe name == own || strcmp(name, own) == 0
    }

    /// Delays the calling thread if the point is hot. Any thread.
    package func reached(_ point: StaticString) {
        faults?.reached(point)
        guard
            isHot(point, firstHot.load(ordering: .relaxed)) || isHot(point, secondHot.load(ordering: .relaxed))
        else { return }
        // Threads that do not belong to the round have no worker: the clock gives them a random
        // number.
        let (worker, now) = (Worker.current, nanoseconds())
        let dice = worker?.dice.next() ?? now &* 0x9E37_79B9_7F4A_7C15 >> 20
        if let faults, faults.strikes(at: dice >> 32) { return }
        if isResting.load(ordering: .relaxed), (dice >> 40) % 16 != 0 { return }
        guard now >= worker?.nextDelay ?? nextStrangerDelay.load(ordering: .relaxed) else { return }
        delay(dice)
        // On a busy machine a yield costs many time slices. A thread spends at most a quarter of
        // its time in delays.
        let end = nanoseconds()
        guard end - now > 500_000 else { return }
        let next = end + 3 * (end - now)
        if let worker { worker.nextDelay = next } else { nextStrangerDelay.store(next, ordering: .relaxed) }
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
}

/// Discards a result.
private func void(_: some Any) {}
