// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// What disturbs the threads under test.
struct PerturbationKinds: OptionSet, Sendable {
    let rawValue: Int
    /// Gives the processor away at injection points.
    static let yield = PerturbationKinds(rawValue: 1)
    /// Spins and sleeps at injection points.
    static let stall = PerturbationKinds(rawValue: 2)
    /// Moves threads from core to core.
    static let affinity = PerturbationKinds(rawValue: 4)

    static let names: [(name: String, kind: PerturbationKinds)] = [
        ("yield", .yield), ("stall", .stall), ("affinity", .affinity),
    ]

    /// The names of those in the set.
    var list: [String] { Self.names.filter { contains($0.kind) }.map(\.name) }
}

/// Delays threads at two injection points, chosen anew for every epoch from the seed.
final class Perturbation: Sendable {
    let kinds: PerturbationKinds
    /// Indices of the hot points. The library's own threads read them while an epoch sets new ones.
    private let firstHot = Atomic<Int>(0)
    private let secondHot = Atomic<Int>(0)

    /// A point that is hot in every epoch, if any.
    private let fixedPoint: String?

    /// Make one before threads under test run, and keep it for the run.
    init(_ kinds: PerturbationKinds, fixedPoint: String? = nil) {
        self.kinds = kinds
        self.fixedPoint = fixedPoint
        #if INSTRUMENTED
        guard !kinds.isDisjoint(with: [.yield, .stall]) else { return }
        unsafe Instrumentation.perturbation = { [self] point in Realtime.unwatched { reached(point) } }
        #endif
    }

    /// Chooses the points for an epoch.
    func prepare(seed: UInt64) {
        #if INSTRUMENTED
        var generator = Generator(seed: seed, stream: 0xBEEF)
        let fixed = Instrumentation.points.firstIndex { $0.description == fixedPoint }
        // Relaxed: a thread that still sees the last epoch's points is as good.
        firstHot.store(fixed ?? generator.below(Instrumentation.points.count), ordering: .relaxed)
        secondHot.store(generator.below(Instrumentation.points.count), ordering: .relaxed)
        #endif
    }

    /// Places a thread that starts.
    func threadStarted(_ lane: Lane) {
        guard kinds.contains(.affinity), lane.generator.oneIn(3) else { return }
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        Thread.bind(toCore: lane.generator.below(min(cores, 64)))
    }

    #if INSTRUMENTED
    private func reached(_ point: StaticString) {
        let points = Instrumentation.points
        guard
            points[firstHot.load(ordering: .relaxed)].isSame(as: point)
                || points[secondHot.load(ordering: .relaxed)].isSame(as: point)
        else { return }
        // The library's threads have no lane: they take their dice from the clock.
        var dice = Lane.current?.generator.next() ?? nanoseconds() &* 0x9E37_79B9_7F4A_7C15 >> 20
        let choice = dice % 100
        dice /= 100
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
