// SPDX-License-Identifier: Apache-2.0

/// Faults of the system, and of users' deinitialisers.
extension PerturbationKinds {
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

    /// The faults of the system or of a user's deinitialiser, each by itself.
    static let singleFaults: [(name: String, kind: PerturbationKinds)] = [
        ("fork", .fork), ("no-thread", .noThread), ("late-barrier", .lateBarrier), ("fail-barrier", .failBarrier),
        ("slow-deinit", .slowDeinit), ("stuck-deinit", .stuckDeinit),
    ]
    static let names = delays + singleFaults

    /// Every fault.
    static let faults = PerturbationKinds(singleFaults.map(\.kind))

    /// The names of those in the set.
    var list: [String] { Self.names.filter { contains($0.kind) }.map(\.name) }
}

extension Perturbation {
    /// Delays threads at the library's injection points too, and makes faults. In the build that
    /// has neither: only where operations begin.
    static func ofLibrary(_ kinds: PerturbationKinds, fixedPoint: String? = nil) -> Perturbation {
        let faults = kinds.isDisjoint(with: .faults) ? nil : Faults()
        #if INSTRUMENTED
        let perturbation = Perturbation(kinds, points: Instrumentation.points, fixedPoint: fixedPoint, faults: faults)
        unsafe Instrumentation.snapshotIsHeld = { Worker.current?.snapshotsHeldOff &+= 1 }
        if let faults {
            unsafe Instrumentation.refusesThread = { faults.refusesThread() }
            unsafe Instrumentation.barrierFault = { faults.barrierError(isRegistration: $0) }
        }
        if faults != nil || !kinds.isDisjoint(with: [.yield, .stall]) {
            unsafe Instrumentation.perturbation = { point in Realtime.unwatched { perturbation.reached(point) } }
        }
        return perturbation
        #else
        return Perturbation(kinds, faults: faults)
        #endif
    }
}
