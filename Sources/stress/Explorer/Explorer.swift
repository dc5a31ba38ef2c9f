// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import Glibc

/// The explorer of this process: one baton, one backend, one program.
final class Explorer {
    let baton: Baton
    private let backend: LibraryBackend
    let exploration: Exploration

    /// - Parameter mutant: Switched on when the library's own threads are there.
    init(_ program: LibraryProgram, omitting omissions: Omissions, mutant: Mutant?) {
        // Safe: no thread under test runs yet.
        unsafe Instrumentation.quarantineLength = .max
        // Different explorers get different cores, most often.
        let core = Int(getpid()) % max(1, min(64, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        baton = Baton(onCore: core) { _ = Instrumentation.forbiddenDepth }
        backend = LibraryBackend(baton)
        unsafe Instrumentation.exploration = backend
        exploration = Exploration(program.program(backend), omitting: omissions, on: baton)
        exploration.betweenRuns = { [backend] in backend.reset() }
        warmUp()
        if program.allowsFaults {
            ForkedChild.prepare()
            // Reclaims what that has retired, so that the first schedule does not.
            warmUp()
        }
        backend.allowsFaults = program.allowsFaults
        if let mutant { unsafe Instrumentation.mutant = mutant.name }
    }

    /// Makes what the library makes on its first use, so that the first schedule begins like all others.
    private func warmUp() {
        let run = Exploration(LibraryProgram.warmUp.program(backend), on: baton).run(Undisturbed())
        guard run.finding == nil else { harnessFailure("the library fails undisturbed: \(run.finding!.failure)") }
        backend.reset()
    }
}
#endif
