// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The explorer of this process. It has one controlled scheduler, one backend and one program.
final class Explorer {
    let scheduler: ControlledScheduler
    private let backend: LibraryBackend
    let exploration: Exploration

    /// Makes an explorer.
    ///
    /// - Parameter bug: Switched on when the library's own threads exist.
    init(_ program: LibraryProgram, _ faults: ExploredFaults, omitting omissions: Omissions, _ bug: SeededBug?) {
        // Safe: no thread under test runs yet.
        unsafe Instrumentation.quarantineLength = .max
        // In most cases several explorers get different cores.
        let core = Int(getpid()) % max(1, min(64, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        scheduler = ControlledScheduler(onCore: core) { _ = Instrumentation.forbiddenDepth }
        scheduler.trail.adopt()
        Trail.report(ExplorationVerdict.crashLine, to: STDOUT_FILENO, exit: .crash)
        backend = LibraryBackend(scheduler)
        unsafe Instrumentation.exploration = backend
        exploration = Exploration(program.program(backend), omitting: omissions, on: scheduler)
        warmUp(program)
        backend.allowsFaults = program.allowsFaults
        allow(faults)
        unsafe Instrumentation.mutant = bug
    }

    /// Adds faults to the program. A schedule has at most one of them.
    private func allow(_ faults: ExploredFaults) {
        backend.faults = faults
        exploration.betweenRuns = { [backend] in
            if faults.contains(.noThread) { backend.endReclamationThread() }
            backend.reset()
        }
        exploration.betweenRuns()
        exploration.beforeThreads = { [backend] in backend.begin() }
        if !faults.isEmpty { exploration.mostFaults = 1 }
        if faults.contains(.noThread) { exploration.afterThreads = { [backend] in backend.drain() } }
    }

    /// Makes the objects that the library makes on its first use, so that the first schedule begins
    /// like all others.
    private func warmUp(_ program: LibraryProgram) {
        for program in [.warmUp, program] {
            let run = Exploration(program.program(backend), on: scheduler).run(Undisturbed())
            guard run.finding == nil else { harnessFailure("the library fails undisturbed: \(run.finding!.failure)") }
            backend.reset()
        }
    }
}
