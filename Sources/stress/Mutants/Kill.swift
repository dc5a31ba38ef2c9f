// SPDX-License-Identifier: Apache-2.0

/// The result for one seeded bug, or for the control, under one engine with one seed.
struct Kill: Codable, Sendable {
    /// An engine that looks for a bug. Each is a column of the kill matrix; a report with kills of
    /// any engine can be merged.
    enum Engine: String, Codable, CaseIterable, Sendable {
        /// Real threads, by this command.
        case plain
        /// Real threads, and what the system and users' code do at their worst: `--perturb faults`.
        case faults
        /// Deterministic interleavings.
        case explorer
        /// Histories of operations on real threads that no sequential order explains.
        case histories
        /// `stress` built with a sanitizer: `Scripts/sanitize.sh`.
        case thread, address, realtime
        /// The Promela models: `Scripts/check-models.sh`.
        case model
        /// The litmus tests of the memory orderings: `Scripts/check-litmus.sh`.
        case litmus
        /// Unit tests that take a repair back.
        case tests
        /// The first three, over the library without liburcu.
        case plainWithoutLiburcu = "plain without liburcu"
        case faultsWithoutLiburcu = "faults without liburcu"
        case explorerWithoutLiburcu = "explorer without liburcu"

        var title: String {
            switch self {
            case .thread, .address, .realtime: "\(rawValue) sanitizer"
            default: rawValue
            }
        }

        static let withoutLiburcu: [Engine] = [.plainWithoutLiburcu, .faultsWithoutLiburcu, .explorerWithoutLiburcu]

        /// The engine's column for the backend of this build.
        var onThisBackend: Engine {
            if LibraryBuild.usesLiburcu { return self }
            switch self {
            case .plain: return .plainWithoutLiburcu
            case .faults: return .faultsWithoutLiburcu
            case .explorer: return .explorerWithoutLiburcu
            default: return self
            }
        }
    }

    enum Verdict: String, Codable, Sendable {
        case killed
        case survived
        /// Without a bug nothing was found.
        case clean
        /// Without a bug something was found.
        case failed
        /// The bug is one of a mechanism that this backend does not have: nothing was run.
        case absent
    }

    /// Nil: the control, nothing was seeded.
    let mutant: String?
    let engine: Engine
    /// The scenario, the program, the model, or the row.
    let scenario: String
    let seed: UInt64
    let verdict: Verdict
    /// The invariant, or what else has caught it.
    let catcher: String?
    let signal: String?
    let seconds: Double
    /// How it ended, where that is a failure of the engine's.
    let output: String?
    /// After how many seconds it was found, waits in vain not counted, where the engine knows: see
    /// `WaitInVain`.
    var secondsToFind: Double?

    var isFailure: Bool { verdict == .survived || verdict == .failed }

    /// The catcher's name, with the signal of a crash.
    var text: String {
        switch verdict {
        case .killed: (catcher ?? "?") + (signal.map { " (\($0))" } ?? "")
        case .survived: "SURVIVED"
        case .clean: "nothing, as it must be"
        case .failed: "FAILED"
        case .absent: "not in this backend"
        }
    }
}

extension Kill {
    /// A bug of a mechanism that this build's backend does not have.
    init(absent mutant: String, _ engine: Engine, in scenario: String) {
        self.init(
            mutant: mutant,
            engine: engine.onThisBackend,
            scenario: scenario,
            seed: 0,
            verdict: .absent,
            catcher: nil,
            signal: nil,
            seconds: 0,
            output: nil
        )
    }
}
