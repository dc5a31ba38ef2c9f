// SPDX-License-Identifier: Apache-2.0

/// The result of one engine with one seed for one seeded bug, or for the control without a bug.
struct Kill: Codable, Sendable {
    /// An engine that looks for a bug. The kill matrix has a column for each. Reports with the
    /// kills of several engines can be merged.
    enum Engine: String, Codable, CaseIterable, Sendable {
        /// Runs real threads with this command.
        case plain
        /// Runs real threads with faults of the system and of users' code: `--perturb faults`.
        case faults
        /// Runs interleavings that a controlled scheduler chooses.
        case explorer
        /// Looks for histories of operations on real threads that no sequential order explains.
        case histories
        /// `stress` built with a sanitizer: `Scripts/sanitize.sh`.
        case thread, address, realtime
        /// The Promela models: `Scripts/check-models.sh`.
        case model
        /// The litmus tests of the memory orderings: `Scripts/check-litmus.sh`.
        case litmus
        /// Unit tests whose code undoes a repair.
        case tests
        /// The first three engines with the library that is built without liburcu.
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
        /// The control: without a bug nothing was found.
        case clean
        /// The control: without a bug something was found.
        case failed
        /// The bug belongs to a mechanism that this backend does not have. Nothing was run.
        case absent
    }

    /// The name of the seeded bug; nil for the control.
    let mutant: String?
    let engine: Engine
    /// The name of the scenario, the program, the model or the row.
    let scenario: String
    var seed: UInt64 = 0
    var verdict: Verdict
    /// The name of the invariant or other check that found the bug; nil if none did.
    var catcher: String?
    var signal: String?
    var seconds = 0.0
    /// The output of the run if the engine failed; nil otherwise.
    var output: String?
    /// The number of seconds until it was found, without waits that ended without an event: see
    /// `WaitInVain`. Nil if the engine does not know it.
    var secondsToFind: Double?

    var isFailure: Bool { verdict == .survived || verdict == .failed }

    /// The name of the check, with the signal of a crash.
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
    /// Makes the result for a bug of a mechanism that this build's backend does not have.
    init(absent mutant: String, _ engine: Engine, in scenario: String) {
        self.init(mutant: mutant, engine: engine.onThisBackend, scenario: scenario, verdict: .absent)
    }
}
