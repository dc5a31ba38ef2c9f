// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Ends a run that makes no progress, and reports the step of each thread.
///
/// In a load, it looks at each thread: it must begin steps. Before and after a load it looks at the
/// round itself, which must make checks.
package final class Watchdog: Sendable {
    package static let shared = Watchdog()

    /// The number of nanoseconds after which a thread, or a round, that makes no progress hangs.
    private let patience = Atomic<UInt64>(40_000_000_000)

    private struct Watched {
        let round: Round
        /// Nil for the round at rest.
        let worker: Worker?
        var progress: UInt64 = 0
        var since = nanoseconds()

        /// How long it may make no progress. At rest a round may wait for events that a seeded bug
        /// keeps back, and a sanitizer makes such waits longer.
        func limit(_ patience: UInt64) -> UInt64 {
            worker == nil ? patience * Sanitizer.slowdown : UInt64(Double(patience) * WaitInVain.factor)
        }

        /// The present number of steps, or of checks.
        var currentProgress: UInt64 { worker?.heartbeat.load(ordering: .relaxed) ?? round.checks }
    }

    private let watched = Guarded<[Watched]>([])
    private let isStarted = Atomic<Bool>(false)
    private let recorder = Guarded<RunRecorder?>(nil)

    /// Sets the recorder that writes a hang to the run's files.
    package func setRecorder(_ recorder: RunRecorder?) { self.recorder.withLock { $0 = recorder } }

    /// Changes the time without progress. It is 40 s at first.
    package func setPatience(_ duration: Duration) {
        patience.store(UInt64(duration.seconds * 1e9), ordering: .relaxed)
    }

    /// Looks at these threads of a round until the next call; without any, at the round itself.
    package func watch(_ round: Round, _ workers: [Worker] = []) {
        let workers: [Worker?] = workers.isEmpty ? [nil] : workers
        watched.withLock { $0 = workers.map { Watched(round: round, worker: $0) } }
        // Relaxed: it only decides which thread starts the watchdog. The lock guards what that
        // thread reads.
        if isStarted.exchange(true, ordering: .relaxed) { return }
        _ = JoinableThread {
            while true {
                usleep(500_000)
                self.look()
            }
        }
    }

    /// Looks at nothing until the next call of ``watch(_:_:)``.
    package func rest() { watched.withLock { $0 = [] } }

    private func look() {
        let patience = patience.load(ordering: .relaxed)
        let stuck = watched.withLock { watched -> [Watched]? in
            // Under the lock, so that it is not before a `since`.
            let now = nanoseconds()
            var hasStuck = false
            for index in watched.indices {
                let progress = watched[index].currentProgress
                if progress != watched[index].progress {
                    watched[index].progress = progress
                    watched[index].since = now
                } else if now - watched[index].since > watched[index].limit(patience) {
                    hasStuck = true
                }
            }
            return hasStuck ? watched : nil
        }
        guard let stuck else { return }
        let limit = stuck[0].limit(patience)
        WaitInVain.note(limit)
        let threads = Self.dump(stuck[0].round, stuck.compactMap(\.worker), limit)
        // A thread that hangs may hold the locks that the host's text needs.
        _ = JoinableThread {
            usleep(5_000_000)
            StandardError.print("\(threads)\n  library: does not answer")
            _exit(StressExit.hang.rawValue)
        }
        let words = stuck[0].round.host.dump
        let dump = threads + (words.map { "\n  library: \($0())" } ?? "")
        StandardError.print(dump)
        recorder.withLock { $0 }?.write(ending: .hang, dump: dump)
        _exit(StressExit.hang.rawValue)
    }

    /// Returns the present step and the last events of each thread.
    private static func dump(_ round: Round, _ workers: [Worker], _ patience: UInt64) -> String {
        let now = nanoseconds()
        let missing = workers.isEmpty ? "the round made no check" : "a thread made no step"
        var lines = [
            "HANG \(round.scenario.name): seed \(round.violations.seed); \(missing) for \(Format.time(patience))"
        ]
        for worker in workers {
            lines.append(
                "  thread \(worker.index): \(worker.heartbeat.load(ordering: .relaxed)) operations, at \(worker.currentStep), depth \(worker.depth)"
            )
            lines.append(worker.lastEvents(4, before: now).text)
        }
        // A violation may be the reason why a thread waits forever. It would not be reported
        // otherwise.
        for violation in round.violations.summary.first {
            lines.append("  before that, \(violation.invariant) was violated: \(violation.message)")
        }
        lines.append(WaitInVain.text)
        return lines.joined(separator: "\n")
    }
}
