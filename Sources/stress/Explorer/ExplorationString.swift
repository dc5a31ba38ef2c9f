// SPDX-License-Identifier: Apache-2.0

/// The data for running one schedule of one program again. `stress replay` takes it as text.
///
/// The text is `program:mutant:omissions:schedule`, with `none` for a part that is missing. The
/// faults that the search adds to the program follow its name: `program+exit`.
struct ExplorationString: Equatable, Sendable {
    var program: String
    var faults: ExploredFaults = []
    var mutant: String?
    var omissions = Omissions()
    var schedule: Schedule

    private var subject: String { faults.isEmpty ? program : "\(program)+\(faults.text)" }
    var text: String { "\(subject):\(mutant.map(Self.word) ?? "none"):\(omissions.text):\(schedule.text)" }

    /// Parses the text. Returns nil if it is wrong.
    ///
    /// - Parameter mutants: The names of all mutants.
    init?(text: String, mutants: [String]) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, !parts[0].isEmpty,
            let omissions = Omissions(text: parts[2]), let schedule = Schedule(text: parts[3])
        else { return nil }
        if parts[1] != "none" {
            mutant = mutants.first { Self.word($0) == parts[1] }
            if mutant == nil { return nil }
        }
        let subject = parts[0].split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        program = String(subject[0])
        if subject.count > 1 {
            guard let faults = ExploredFaults(text: subject[1]) else { return nil }
            self.faults = faults
        }
        self.omissions = omissions
        self.schedule = schedule
    }

    init(
        program: String,
        faults: ExploredFaults = [],
        mutant: String?,
        omissions: Omissions,
        schedule: Schedule
    ) {
        (self.program, self.faults, self.mutant) = (program, faults, mutant)
        (self.omissions, self.schedule) = (omissions, schedule)
    }

    /// Returns a mutant's name as one word without characters that have a meaning for a shell.
    static func word(_ name: String) -> String {
        name.filter { $0.isLetter || $0.isNumber || $0 == " " }.split(separator: " ").joined(separator: "-")
    }
}
