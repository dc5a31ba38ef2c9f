// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A row of `Models/rows.txt`: a model with options, and the expected result of its search.
struct ModelRow: Equatable {
    enum Kind: String { case holds, mutant, window }

    let kind: Kind
    let model: String
    let name: String
    /// The expected result of the search.
    let expected: String
    private let options: [String]
    /// Whether the search has a million states or more. Then the optimiser is worth its time. For
    /// the others the compiler would take longer than the search.
    private let isLarge: Bool

    /// Reads `kind | model | name | claim | options`.
    init(_ line: some StringProtocol) throws(Failure) {
        let fields = line.split(separator: "|", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard fields.count == 5, let kind = Kind(rawValue: fields[0]), fields[3].isEmpty == (kind == .holds) else {
            throw Failure("Models/rows.txt: no row: \(line)")
        }
        (self.kind, model, name) = (kind, fields[1], fields[2])
        expected = kind == .holds ? Self.noErrors : fields[3]
        let words = fields[4].split(separator: " ").map(String.init)
        isLarge = words.contains("LARGE")
        options = words.filter { $0 != "-" && $0 != "LARGE" }
    }

    static let noErrors = "0 errors"

    static func all(in text: String) throws -> [ModelRow] {
        try text.lines.filter { !$0.hasPrefix("#") && !$0.isEmpty }.map { try ModelRow($0) }
    }

    /// The definitions for the preprocessor: the broken rule, and the options.
    var definitions: [String] { (kind == .holds ? [] : [Self.option(name)]) + options }

    /// Returns the option that breaks the rule with this name: `the reclamation thread's wake-up is
    /// lost` becomes THE_RECLAMATION_THREADS_WAKE_UP_IS_LOST.
    private static func option(_ name: String) -> String {
        name.replacingOccurrences(of: "'", with: "").uppercased().replacing(/[^A-Z0-9]+/, with: "_")
    }

    // MARK: Running

    /// The result of a search.
    struct Result {
        let row: ModelRow
        let found: String
        let states: String
        let seconds: Double

        var isAsExpected: Bool { found == row.expected }
    }

    /// Searches the model with Spin, up to a depth.
    func run(models: String, depth: Int = 100_000) throws -> Result {
        let work = try TemporaryFolder()
        let started = Date()
        let file = "\(models)/\(model).pml"
        let isTemporal = try String(contentsOfFile: file, encoding: .utf8).lines.contains { $0.hasPrefix("ltl ") }
        func result(_ found: String, _ states: String = "-") -> Result {
            Result(row: self, found: found, states: states, seconds: Date().timeIntervalSince(started))
        }
        let spin = try Command("spin", definitions.map { "-D\($0)" } + ["-a", file], in: work.path).run()
        if spin.code != 0 { return result("spin rejects it: \(spin.output.lines[0])") }
        let safety = isTemporal ? [] : ["-DSAFETY", "-DNOFAIR"]
        // clang, since without optimisation it compiles in half of gcc's time.
        let compiling = [isLarge ? "-O1" : "-O0", "-w"] + safety + ["-DMEMLIM=4000", "-o", "pan", "pan.c"]
        if try Command("clang", compiling, in: work.path).run().code != 0 { return result("clang rejects it") }
        // The largest model has 24 million states. With fewer slots each lookup follows a chain.
        let slots = isLarge ? "-w25" : "-w22"
        let search = ["./pan", "-m\(depth)", slots] + (isTemporal ? ["-a", "-f"] : [])
        // The largest model takes a minute, and ten on a busy machine.
        let log = try Command("nice", search, in: work.path, atMost: 1200).run().output
        let states = log.lines.first { $0.contains("states, stored") }?.split(separator: " ").first.map(String.init)
        return result(Self.found(log), states ?? "-")
    }

    /// Returns the result in the output of a search.
    static func found(_ log: String) -> String {
        let errors = log.lines.filter { $0.hasPrefix("pan:") }
        if log.contains("assertion violated") {
            let claim = errors.lazy.compactMap { $0.firstMatch(of: /.*assertion violated \(*([A-Za-z]+)\|\|/)?.1 }.first
            return claim.map(String.init) ?? "an assertion without a label"
        }
        if errors.contains(where: { $0.contains("invalid end state") }) { return "deadlock" }
        if errors.contains(where: { $0.contains("acceptance cycle") }) { return "neverEnds" }
        if log.contains(/Search not completed|max search depth|hashtable.*full|out of memory/) {
            return "search not completed"
        }
        return log.contains("errors: 0") ? noErrors : "no result: \(log.lines.last ?? "")"
    }
}
