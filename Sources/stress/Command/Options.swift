// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A duration on the command line: a number and its unit, `500ms`, `30s`, `10m`, `1h`.
struct DurationArgument {
    let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    /// Parses an argument.
    ///
    /// - Throws: A `ValidationError` that says what is wrong with the argument, and how to write
    ///   it.
    init(parsing text: String) throws {
        if let value = Self(argument: text) {
            self = value
        } else if Self(argument: text + "s") != nil {
            throw ValidationError("a duration has a unit: write \(text)s for seconds, \(text)m for minutes")
        } else {
            throw ValidationError("a duration is a number and its unit, as in 500ms, 30s, 10m or 1h; at most a week")
        }
    }

    private init?(argument: String) {
        let units: [(suffix: String, milliseconds: Double)] = [
            ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000),
        ]
        guard let unit = units.first(where: { argument.hasSuffix($0.suffix) }),
            let number = Double(argument.dropLast(unit.suffix.count)),
            number > 0, number * unit.milliseconds <= 86_400_000 * 7
        else { return nil }
        duration = .milliseconds(Int64((number * unit.milliseconds).rounded()))
    }

    static let help = "A number and its unit: 500ms, 30s, 10m, 1h; at most a week."
}

/// Says in one word how long and with which perturbation to run.
enum Profile: String, ExpressibleByArgument, CaseIterable {
    /// Takes about ten seconds.
    case smoke
    /// Takes about a minute and a half.
    case ci
    /// Takes ten minutes.
    case soak

    var duration: Duration {
        switch self {
        case .smoke: .seconds(10)
        case .ci: .seconds(90)
        case .soak: .seconds(600)
        }
    }
}

/// The perturbation on the command line: `none`, or a list of kinds. In a list, `all` stands for
/// every delay, and `faults` for every fault.
struct PerturbationArgument: CustomStringConvertible {
    let kinds: PerturbationKinds

    /// The text as it is written on the command line.
    var description: String { kinds.isEmpty ? "none" : kinds.list.joined(separator: ",") }

    init(_ kinds: PerturbationKinds) { self.kinds = kinds }

    /// Parses an argument.
    ///
    /// - Throws: A `ValidationError` that names the unknown word and all known ones.
    init(parsing text: String) throws {
        let groups: [(name: String, kind: PerturbationKinds)] = [("all", .all), ("faults", .faults)]
        let known = groups + PerturbationKinds.names
        var kinds: PerturbationKinds = []
        for word in text == "none" ? [] : text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let kind = known.first(where: { $0.name == word })?.kind else {
                let names = known.map(\.name).joined(separator: ", ")
                throw ValidationError("there is no perturbation '\(word)': none, or any of \(names)")
            }
            kinds.insert(kind)
        }
        self.init(kinds)
    }

    static let usual = PerturbationArgument([.yield, .stall, .affinity])
}

/// Returns the scenarios with these names.
func scenarios(named names: [String]) throws -> [Scenario] {
    guard !names.isEmpty else {
        return Scenario.all.filter { scenario in Sanitizer.current.map { !scenario.unfit.contains($0) } ?? true }
    }
    return try names.map { name in
        guard let scenario = Scenario.named(name) else {
            // The value of an option that does not exist would be taken for the name of a scenario.
            if Double(name) != nil || (try? DurationArgument(parsing: name)) != nil {
                throw ValidationError("'\(name)' belongs to no option; see `stress run --help`")
            }
            throw unknown("scenario", name, among: Scenario.all.map(\.name), listedBy: "stress list")
        }
        if let sanitizer = Sanitizer.current, scenario.unfit.contains(sanitizer) {
            throw ValidationError("scenario '\(name)' cannot run under the \(sanitizer.rawValue) sanitizer")
        }
        return scenario
    }
}

#if INSTRUMENTED
extension SeededBug {
    /// Parses the name of a seeded bug: its sentence, or its words joined by hyphens, which need no
    /// quotes.
    ///
    /// - Throws: A `ValidationError` with the name that was probably meant, and the command that
    ///   lists all names.
    init(parsing text: String) throws {
        let bugs = SeededBug.allCases
        guard let bug = bugs.first(where: { $0.rawValue == text || ExplorationString.word($0.rawValue) == text }) else {
            throw unknown("seeded bug", text, among: bugs.map(\.rawValue), listedBy: "stress mutants --list")
        }
        self = bug
    }
}
#endif
