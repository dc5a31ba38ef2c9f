// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import Glibc

/// The process that explores: it ends at the first failure, in whatever state that is, and says what it has found in one line.
struct ExplorationWorker {
    private let search: SearchOptions

    /// What a worker says.
    enum Verdict: Equatable {
        case explored(runs: Int, isComplete: Bool)
        case found(invariant: String, message: String, schedule: Schedule, preemptions: Int)
        case diverged(String)

        var line: String {
            switch self {
            case .explored(let runs, let isComplete): "explored\t\(runs)\t\(isComplete)"
            case .found(let invariant, let message, let schedule, let preemptions):
                "found\t\(invariant)\t\(message)\t\(schedule.text)\t\(preemptions)"
            case .diverged(let message): "diverged\t\(message)"
            }
        }

        init?(line: String) {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            switch (parts.first, parts.count) {
            case ("explored", 3):
                guard let runs = Int(parts[1]) else { return nil }
                self = .explored(runs: runs, isComplete: parts[2] == "true")
            case ("found", 5):
                guard let schedule = Schedule(text: parts[3]), let preemptions = Int(parts[4]) else { return nil }
                self = .found(invariant: parts[1], message: parts[2], schedule: schedule, preemptions: preemptions)
            case ("diverged", 2): self = .diverged(parts[1])
            // A crash, with the steps so far as single letters.
            case ("crashed", 3):
                let steps = parts[2].compactMap(Schedule.letters.firstIndex)
                self = .found(
                    invariant: "crash",
                    message: "signal \(parts[1])",
                    schedule: Schedule(steps),
                    preemptions: 0
                )
            default: return nil
            }
        }
    }

    init(_ search: SearchOptions) { self.search = search }

    func run(_ program: LibraryProgram) throws -> Never {
        let explorer = Explorer(
            program,
            omitting: Omissions(text: search.omit)!,
            mutant: search.mutant.flatMap(Mutant.named)
        )
        CrashedSchedule.follow(explorer.baton)
        do throws(Exploration.Divergence) {
            let result = try explorer.exploration.run(search.strategy, limit: search.runs ?? .max) { finding in
                Self.finish(
                    .found(
                        invariant: finding.failure.invariant,
                        message: finding.failure.message,
                        schedule: finding.schedule,
                        preemptions: finding.preemptions
                    ),
                    .violated
                )
            }
            Self.finish(.explored(runs: result.runs, isComplete: result.isComplete), .pass)
        } catch {
            Self.finish(.diverged(error.message), .harnessError)
        }
    }

    /// Ends the process where it stands: threads may be stuck, and the library's state is what the failure has left.
    private static func finish(_ verdict: Verdict, _ exit: StressExit) -> Never {
        print(verdict.line)
        fflush(nil)
        _exit(exit.rawValue)
    }
}

/// The schedule so far, where a signal handler can write it.
private enum CrashedSchedule {
    private static var most: Int { 1 << 16 }
    nonisolated(unsafe) private static var letters = UnsafeMutablePointer<UInt8>.allocate(capacity: most)
    nonisolated(unsafe) private static var count = 0

    static func follow(_ baton: Baton) {
        let names = Schedule.letters.map { $0.asciiValue! }
        baton.onStep = { step, thread in
            guard step < most else { return }
            // Safe: never freed; the step is below its capacity.
            unsafe letters[step] = names[thread]
            unsafe count = step + 1
        }
        guard Sanitizer.current == nil else { return }
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE] { signal(number, report) }
    }

    private static let report: @convention(c) (Int32) -> Void = { number in
        // Two digits, without memory: the process is dying.
        let digits = [UInt8(ascii: "0") + UInt8(number / 10), UInt8(ascii: "0") + UInt8(number % 10)]
        write("crashed\t")
        _ = unsafe digits.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        write("\t")
        _ = unsafe Glibc.write(STDOUT_FILENO, letters, count)
        write("\n")
        _exit(StressExit.crash.rawValue)
    }

    private static func write(_ text: StaticString) {
        // Safe: a literal.
        _ = unsafe Glibc.write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }
}
#endif
