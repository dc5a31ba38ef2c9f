// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The process that explores. It ends at the first failure, in any state; its last line says what
/// it has found.
enum ExplorationChild {
    static func explore(_ program: LibraryProgram, _ search: SearchOptions) -> Never {
        let explorer = Explorer(
            program,
            search.addedFaults,
            omitting: Omissions(text: search.omit)!,
            search.mutant
        )
        CrashedSchedule.follow(explorer.exploration)
        do throws(Exploration.Divergence) {
            // Fewer preemptions first: most failures need few, and there are few such schedules.
            if search.isExhaustive {
                for fewer in 0..<min(search.bound, program.mostPreemptions) {
                    _ = try explorer.exploration.search(DepthFirst(bound: fewer), limit: search.runs ?? .max) {
                        finish($0)
                    }
                }
            }
            let result = try explorer.exploration.search(search.strategy(for: program), limit: search.runs ?? .max) {
                finish($0)
            }
            finish(.explored(runs: result.runs, isComplete: result.isComplete), .pass)
        } catch {
            finish(.diverged(error.message), .harnessError)
        }
    }

    /// Prints every step as it is taken.
    static func replay(_ string: ExplorationString, of program: LibraryProgram) -> Never {
        let explorer = Explorer(
            program,
            string.faults,
            omitting: string.omissions,
            string.mutant.flatMap(SeededBug.init)
        )
        CrashedSchedule.follow(explorer.exploration) { thread in
            print("step\t\(thread.index)\t\(thread.name)\t\(thread.label)")
            fflush(nil)
        }
        let repetition = Repetition(string.schedule)
        _ = explorer.exploration.run(repetition) { finding in
            if repetition.doesNotFit { finish(.diverged("the schedule does not fit the program"), .harnessError) }
            finish(finding)
        }
        if repetition.doesNotFit { finish(.diverged("the schedule does not fit the program"), .harnessError) }
        finish(.explored(runs: 1, isComplete: true), .pass)
    }

    private static func finish(_ finding: Exploration.Finding) -> Never {
        finish(
            .found(
                invariant: finding.failure.invariant,
                message: finding.failure.message,
                schedule: finding.schedule,
                preemptions: finding.preemptions
            ),
            .violated
        )
    }

    /// Ends the process where it stands: threads may be stuck, and the library's state is what the
    /// failure has left.
    private static func finish(_ verdict: ExplorationVerdict, _ exit: StressExit) -> Never {
        print(verdict.line)
        fflush(nil)
        _exit(exit.rawValue)
    }
}

/// The schedule so far, where a signal handler can write it.
private enum CrashedSchedule {
    private static var most: Int { 1 << 16 }
    nonisolated(unsafe) private static let letters = UnsafeMutablePointer<UInt8>.allocate(capacity: most)
    nonisolated(unsafe) private static var count = 0
    nonisolated(unsafe) private static var preemptions: UInt8 = 0

    static func follow(_ exploration: Exploration, _ note: @escaping (ScheduledThread) -> Void = { _ in }) {
        let names = Schedule.letters.map { $0.asciiValue! }
        exploration.onStep = { step, thread, preemptions in
            note(thread)
            guard step < most else { return }
            // Safe: never freed; the step is below its capacity. One thread runs at a time.
            unsafe letters[step] = names[thread.index]
            unsafe count = step + 1
            unsafe self.preemptions = UInt8(min(preemptions, 9))
        }
        guard Sanitizer.current == nil else { return }
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE] { signal(number, reportCrash) }
    }

    /// Allocates nothing: the process is dying.
    fileprivate static func report(_ number: Int32) -> Never {
        write("crashed\t")
        write(digit: UInt8(number / 10 % 10))
        write(digit: UInt8(number % 10))
        write("\t")
        // Safe: never freed.
        _ = unsafe Glibc.write(STDOUT_FILENO, letters, count)
        write("\t")
        write(digit: unsafe preemptions)
        write("\n")
        _exit(StressExit.crash.rawValue)
    }

    private static func write(digit: UInt8) {
        var letter = UInt8(ascii: "0") + digit
        _ = unsafe Glibc.write(STDOUT_FILENO, &letter, 1)
    }

    private static func write(_ text: StaticString) {
        // Safe: a literal.
        _ = unsafe Glibc.write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }
}

/// The signal handler.
private func reportCrash(_ number: Int32) { CrashedSchedule.report(number) }
