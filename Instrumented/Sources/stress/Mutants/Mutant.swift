// SPDX-License-Identifier: Apache-2.0

/// A bug that is switched on in the instrumented build, to prove that a check can fail.
struct Mutant: Sendable {
    let bug: SeededBug
    /// Where it is looked for.
    let scenario: String
    /// The catchers: one of them must report the bug. An invariant, a crash, a hang, or a
    /// sanitizer's report.
    let catchers: [Catcher]
    /// The injection point where threads are delayed: the race's window. Without one, the seed
    /// chooses.
    let point: StaticString?
    /// Whether threads are delayed at injection points. Not where a missing ordering is looked for:
    /// what the delays do orders the threads in ThreadSanitizer's eyes.
    let isPerturbed: Bool
    /// The faults around the library while an engine looks for the bug.
    let faults: PerturbationKinds
    /// How long the scenario runs at most.
    let budget: Duration

    enum Catcher: Sendable, Equatable {
        case invariant(String)
        case crash
        case hang
        case report(Sanitizer)
        /// A history that no order explains: `stress mutants --engine histories`. The text is the
        /// subject.
        case history(String)
        /// A model checker: no run on x86-64 is known to show it. The text is the reason.
        case model(String)

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

    /// Whether nothing else may run beside it: its scenario holds a bound against the clock, or a
    /// sanitizer slows everything down.
    var needsTheMachine: Bool { engine != .plain || Scenario.named(scenario)!.excluded.contains(.crowd) }

    /// The engine that looks for it.
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

    /// The engine that looks for it, as `stress mutants --engine` takes it; or a script, if that
    /// engine is not part of this build.
    var engineAsTyped: String {
        switch engine {
        case .plain: "run"
        case .histories: "histories"
        case .model: "Scripts/check-models.sh"
        case .sanitizer(let sanitizer): "Scripts/sanitize.sh \(sanitizer.rawValue)"
        }
    }

    /// The column of its kills.
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
