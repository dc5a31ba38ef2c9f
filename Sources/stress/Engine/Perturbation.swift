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
}

/// Delays threads at one or two injection points, chosen anew for every epoch from the seed.
final class Perturbation: @unchecked Sendable {
    // Unchecked: `hot` changes between epochs, while no thread under test runs; the library's own threads read a stale or a new one.
    let kinds: PerturbationKinds
    private var hot: [StaticString] = []

    init(_ kinds: PerturbationKinds) { self.kinds = kinds }

    /// Chooses the points for an epoch.
    func prepare(seed: UInt64) {
        #if INSTRUMENTED
        var generator = Generator(seed: seed, stream: 0xBEEF)
        let points = Instrumentation.points
        hot = (0..<2).map { _ in points[generator.below(points.count)] }
        unsafe Instrumentation.perturbation = nil
        if kinds.isDisjoint(with: [.yield, .stall]) { return }
        let perturbation = self
        unsafe Instrumentation.perturbation = { point in perturbation.reached(point) }
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
        guard hot.contains(where: { $0.isSame(as: point) }) else { return }
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
