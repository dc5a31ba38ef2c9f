// SPDX-License-Identifier: Apache-2.0

/// A defect that is known to have existed, in this library or in another project, in the library's
/// terms.
///
/// The engines look for it as they look for anything: no injection point is named to them, no
/// scenario, no invariant. What they find says what they are worth, and how long to run them.
struct KnownDefect: Sendable {
    enum Origin: Sendable, Equatable {
        /// Repaired in this project, by a commit.
        case own(commit: String)
        /// A defect of another project. The reference is a commit, an issue or a change there.
        case published(project: String, reference: String)

        var text: String {
            switch self {
            case .own(let commit): "ours, \(commit)"
            case .published(let project, let reference): "\(project), \(reference)"
            }
        }
    }

    /// How a kind of engine has the defect.
    enum Statement: Sendable {
        case named([String])
        /// It cannot be stated there, for a reason.
        case none(because: String)

        var names: [String] { if case .named(let names) = self { names } else { [] } }
    }

    let name: String
    let origin: Origin
    /// The defect, in one sentence.
    let summary: String
    /// A seeded bug: `Mutant`.
    let seeded: Statement
    /// Broken rules of `Scripts/check-models.sh`.
    let models: Statement
    /// Defects of `Scripts/check-litmus.sh`.
    let litmus: Statement
    /// Tests that take the repair back, by their display names.
    let tests: Statement

    /// How an engine has it.
    func statement(for engine: Kill.Engine) -> Statement {
        switch engine {
        case .plain, .faults, .explorer, .histories, .thread, .address, .realtime, .plainWithoutLiburcu,
            .faultsWithoutLiburcu, .explorerWithoutLiburcu:
            seeded
        case .model: models
        case .litmus: litmus
        case .tests: tests
        }
    }

    static func named(_ name: String) -> KnownDefect? { all.first { $0.name == name } }
}

/// The result of one engine that runs the library, for one known defect.
struct Trial: Codable, Sendable {
    /// Nil: a control, nothing was taken back.
    let defect: String?
    let engine: Kill.Engine
    /// The check that showed it; nil if none did.
    let catcher: String?
    /// The scenario, program or subject.
    let place: String?
    let seconds: Double
    /// The extent of a search without a finding.
    let extent: String?
}
