// SPDX-License-Identifier: Apache-2.0

/// A bug that is switched on in the instrumented build, to show that a check can fail.
struct Mutant: Sendable {
    let bug: SeededBug
    /// The name of the scenario in which the bug is looked for.
    let scenario: String
    /// The possible reports of the bug. One of them must come: an invariant, a crash, a hang, or a
    /// report of a sanitizer.
    let catchers: [Catcher]
    /// The injection point at which threads are delayed, in the middle of the race. If it is nil,
    /// the seed chooses the point.
    let point: StaticString?
    /// Whether threads are delayed at injection points. False for a missing ordering, because
    /// ThreadSanitizer takes the delays for an ordering of the threads.
    let isPerturbed: Bool
    /// The faults that happen while an engine looks for the bug.
    let faults: PerturbationKinds
    /// The longest time for which the scenario runs.
    let budget: Duration

    /// An invariant is written as its name.
    enum Catcher: Sendable, Equatable, ExpressibleByStringLiteral {
        case invariant(String)
        case crash
        case hang
        case report(Sanitizer)
        /// A history that no order explains: `stress mutants --engine histories`. The text is the
        /// name of the subject.
        case history(String)
        /// A model checker. No run on x86-64 is known to show the bug. The text is the reason.
        case model(String)

        init(stringLiteral name: String) { self = .invariant(name) }

        var text: String {
            switch self {
            case .invariant(let name): name
            case .crash: "crash"
            case .hang: "hang"
            case .report(let sanitizer): "\(sanitizer.rawValue) sanitizer"
            case .history(let subject): "history of \(subject)"
            case .model(let reason): "a model checker: \(reason)"
            }
        }
    }

    /// Whether no other process may run at the same time: the scenario has a time limit, or a
    /// sanitizer slows it down.
    var needsTheMachine: Bool { engine != .plain || Scenario.named(scenario)!.excluded.contains(.crowd) }

    /// The engine that looks for the bug.
    enum Engine: Equatable {
        case plain
        case sanitizer(Sanitizer)
        case histories
        case model
    }

    var engine: Engine {
        switch catchers.first {
        case .report(let sanitizer): .sanitizer(sanitizer)
        case .history: .histories
        case .model: .model
        default: .plain
        }
    }

    /// The engine that looks for the bug, as an argument of `stress mutants --engine`. If the
    /// engine is not a part of this build, the name of a script.
    var engineAsTyped: String {
        switch engine {
        case .plain: "run"
        case .histories: "histories"
        case .model: "Scripts/check-models.sh"
        case .sanitizer(let sanitizer): "Scripts/sanitize.sh \(sanitizer.rawValue)"
        }
    }

    /// The column of the bug's kills in the matrix.
    var killEngine: Kill.Engine {
        switch engine {
        case .plain: (faults.isEmpty ? Kill.Engine.plain : .faults).onThisBackend
        case .histories: .histories
        case .model: .model
        case .sanitizer(.thread): .thread
        case .sanitizer(.address): .address
        case .sanitizer(.realtime): .realtime
        }
    }
}
