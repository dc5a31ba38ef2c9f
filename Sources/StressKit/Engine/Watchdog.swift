// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Ends a run in which a thread makes no progress, and reports the step of each thread.
package final class Watchdog: Sendable {
    package static let shared = Watchdog()

    /// A thread hangs if it has finished no step for this number of nanoseconds.
    private let patience = Atomic<UInt64>(40_000_000_000)

    private struct Watched {
        var worker: Worker
        var heartbeat: UInt64
        var since: UInt64
    }

    private let watched = Guarded<[Watched]>([])
    private let isStarted = Atomic<Bool>(false)
    private let recorder = Guarded<RunRecorder?>(nil)

    /// Sets the recorder that writes a hang to the run's files.
    package func setRecorder(_ recorder: RunRecorder?) { self.recorder.withLock { $0 = recorder } }

    /// Changes the time that a thread may spend in one step. It is 40 s at first.
    package func setPatience(_ duration: Duration) {
        patience.store(UInt64(duration.seconds * 1e9), ordering: .relaxed)
    }

    package func watch(_ workers: [Worker]) {
        let now = nanoseconds()
        watched.withLock { $0 = workers.map { Watched(worker: $0, heartbeat: 0, since: now) } }
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

    private func look() {
        let now = nanoseconds()
        let patience = UInt64(Double(patience.load(ordering: .relaxed)) * WaitInVain.factor)
        let stuck = watched.withLock { watched -> [Worker]? in
            var hasStuck = false
            for index in watched.indices {
                let heartbeat = watched[index].worker.heartbeat.load(ordering: .relaxed)
                if heartbeat != watched[index].heartbeat {
                    watched[index].heartbeat = heartbeat
                    watched[index].since = now
                } else if now - watched[index].since > patience {
                    hasStuck = true
                }
            }
            return hasStuck ? watched.map(\.worker) : nil
        }
        guard let stuck else { return }
        WaitInVain.note(patience)
        let threads = Self.dump(stuck, patience)
        // A thread that hangs may hold the locks that the host's text needs.
        _ = JoinableThread {
            usleep(5_000_000)
            StandardError.print("\(threads)\n  library: does not answer")
            _exit(StressExit.hang.rawValue)
        }
        let words = stuck.first?.round.host.dump
        let dump = threads + (words.map { "\n  library: \($0())" } ?? "")
        StandardError.print(dump)
        recorder.withLock { $0 }?.write(ending: .hang, dump: dump)
        _exit(StressExit.hang.rawValue)
    }

    /// Returns the present step and the last events of each thread.
    private static func dump(_ workers: [Worker], _ patience: UInt64) -> String {
        let now = nanoseconds()
        let round = workers.first?.round
        var lines = [
            "HANG \(round?.scenario.name ?? "?"): seed \(round?.violations.seed ?? 0); a thread made no step for \(Format.time(patience))"
        ]
        for worker in workers {
            lines.append(
                "  thread \(worker.index): \(worker.heartbeat.load(ordering: .relaxed)) operations, at \(worker.currentStep), depth \(worker.depth)"
            )
            lines.append(worker.lastEvents(4, before: now).text)
        }
        // A violation may be the reason why a thread waits forever. It would not be reported
        // otherwise.
        for violation in round?.violations.summary.first ?? [] {
            lines.append("  before that, \(violation.invariant) was violated: \(violation.message)")
        }
        lines.append(WaitInVain.text)
        return lines.joined(separator: "\n")
    }
}
