// SPDX-License-Identifier: Apache-2.0

/// Runs `stress mutants --engine histories`: it looks for seeded bugs that a history shows. No
/// invariant is made for them.
enum HistoryMutants {
    /// The number of histories without a failure in a control. It takes two seconds on a quiet
    /// machine.
    private static let controlLength = 20_000
    /// The longest time of a control in seconds. If other programs run, its threads wait for each
    /// other.
    private static let controlSeconds = 20
    /// The number of histories in which a bug must show. The rarest bug needs some 7,000 on
    /// average, on some machines more.
    private static let patience = 500_000

    static func run(_ bugs: [SeededBug], seed: UInt64) throws -> [Kill] {
        let chosen = HistoryMutant.all.filter { bugs.isEmpty || bugs.contains($0.bug) }
        let kills = try inPairs(chosen) { judge($0.subject, $0.bug, seed: seed) }
        let controls = Set(chosen.map(\.subject)).sorted().map { judge($0, nil, seed: seed) }
        return kills + controls
    }

    private static func judge(_ subject: String, _ bug: SeededBug?, seed: UInt64) -> Kill {
        var arguments = ["histories", subject, "--histories", "\(bug == nil ? controlLength : patience)"]
        arguments += ["--seed", "\(seed)"]
        arguments += bug.map { ["--mutant", $0.rawValue] } ?? ["--seconds", "\(controlSeconds)"]
        let start = nanoseconds()
        let (output, exit) = CommandProcess.run(arguments)
        let isFound = exit == StressExit.violated.rawValue
        let verdict: Kill.Verdict =
            if bug != nil { isFound ? .killed : .survived } else { exit == 0 ? .clean : .failed }
        let kill = Kill(
            mutant: bug?.rawValue,
            engine: .histories,
            scenario: subject,
            seed: seed,
            verdict: verdict,
            catcher: isFound ? "no order explains it" : nil,
            seconds: Double(nanoseconds() - start) / 1e9,
            output: verdict == .killed || verdict == .clean ? nil : output
        )
        let name = bug?.rawValue ?? "control"
        StandardError.print("\(name), \(subject): \(kill.text), \(Format.seconds(kill.seconds))")
        return kill
    }
}
