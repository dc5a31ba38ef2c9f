// SPDX-License-Identifier: Apache-2.0

/// The faults of the system and of users' deinitialisers.
extension PerturbationKinds {
    /// Forks the process when a thread is at an injection point. The child reads: see
    /// `ReadableValues`.
    static let fork = PerturbationKinds(rawValue: 256)
    /// Refuses to start threads of the library, sometimes several in a row.
    static let noThread = PerturbationKinds(rawValue: 512)
    /// Delays membarrier.
    static let lateBarrier = PerturbationKinds(rawValue: 1024)
    /// Makes every deinitialiser that the library runs take 2 ms.
    static let slowDeinit = PerturbationKinds(rawValue: 2048)
    /// Blocks every deinitialiser that the library runs, for the time of a round's load.
    static let stuckDeinit = PerturbationKinds(rawValue: 4096)
    /// Makes membarrier fail: for a moment, or until the process registers for it again.
    static let failBarrier = PerturbationKinds(rawValue: 8192)

    /// The faults of the system and of users' deinitialisers, one by one, with their names.
    static let singleFaults: [(name: String, kind: PerturbationKinds)] = [
        ("fork", .fork), ("no-thread", .noThread), ("late-barrier", .lateBarrier), ("fail-barrier", .failBarrier),
        ("slow-deinit", .slowDeinit), ("stuck-deinit", .stuckDeinit),
    ]
    static let names = delays + singleFaults

    /// Every fault.
    static let faults = PerturbationKinds(singleFaults.map(\.kind))

    /// The names of the kinds in the set.
    var list: [String] { Self.names.filter { contains($0.kind) }.map(\.name) }
}

extension Perturbation {
    /// Returns a perturbation that delays threads also at the library's injection points, and makes
    /// faults. In the build without injection points it delays threads only where operations begin.
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
