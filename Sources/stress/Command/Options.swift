// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// A duration on the command line: a number and its unit, `500ms`, `30s`, `10m`, `1h`.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
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

/// How long and how hard, in one word.
enum Profile: String, ExpressibleByArgument, CaseIterable {
    /// About ten seconds.
    case smoke
    /// About a minute and a half.
    case ci
    /// Ten minutes.
    case soak

    var duration: Duration {
        switch self {
        case .smoke: .seconds(10)
        case .ci: .seconds(90)
        case .soak: .seconds(600)
        }
    }
}

/// What disturbs the threads, on the command line: `none`, or a list, in which `all` is every delay and `faults` every fault.
struct PerturbationArgument: ExpressibleByArgument {
    let kinds: PerturbationKinds

    init?(argument: String) {
        if argument == "none" {
            kinds = []
            return
        }
        let groups: [(name: String, kind: PerturbationKinds)] = [("all", .all), ("faults", .faults)]
        var kinds: PerturbationKinds = []
        for word in argument.split(separator: ",", omittingEmptySubsequences: false) {
            guard let kind = (groups + PerturbationKinds.names).first(where: { $0.name == word })?.kind else {
                return nil
            }
            kinds.insert(kind)
        }
        self.kinds = kinds
    }

    static let usual = PerturbationArgument(argument: "yield,stall,affinity")!
}

/// The scenarios that the command line names.
func scenarios(named names: [String]) throws -> [Scenario] {
    guard !names.isEmpty else {
        return Scenario.all.filter { scenario in Sanitizer.current.map { !scenario.unfit.contains($0) } ?? true }
    }
    return try names.map { name in
        guard let scenario = Scenario.named(name) else {
            throw ValidationError("unknown scenario '\(name)'; `stress list` names them")
        }
        if let sanitizer = Sanitizer.current, scenario.unfit.contains(sanitizer) {
            throw ValidationError("scenario '\(name)' cannot run under the \(sanitizer.rawValue) sanitizer")
        }
        return scenario
    }
}

/// Twice to four times the cores, so that threads are interrupted everywhere.
var usualThreads: Int { max(4, 3 * Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
