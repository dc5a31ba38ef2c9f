// SPDX-License-Identifier: Apache-2.0

/// A defect that has existed in this library or in another project, in the library's terms.
///
/// The engines look for it as they look for any bug. They are given no injection point, scenario or
/// invariant. Their results show how good the engines are, and how long to run them.
struct KnownDefect: Sendable {
    enum Origin: Sendable, Equatable {
        /// A defect that a commit of this project has repaired.
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

    /// Says how a kind of engine can look for the defect. It is written as an array of names, or as
    /// the reason why this kind of engine cannot.
    enum Statement: Sendable, ExpressibleByArrayLiteral {
        case named([String])
        /// This kind of engine cannot look for the defect, for the given reason.
        case none(because: String)

        init(arrayLiteral names: String...) { self = .named(names) }

        var names: [String] { if case .named(let names) = self { names } else { [] } }
    }

    let name: String
    let origin: Origin
    /// The defect, in one sentence.
    let summary: String
    /// The seeded bugs that undo the repair.
    let seeded: Statement
    /// The rows of `Scripts/check-models.sh` that break a rule of a model.
    let models: Statement
    /// The rows of `Scripts/check-litmus.sh` that have the defect.
    let litmus: Statement
    /// The display names of unit tests that undo the repair.
    let tests: Statement

    /// Returns how `engine` can look for the defect.
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
    /// The name of the defect; nil for a control, in which no repair was undone.
    let defect: String?
    let engine: Kill.Engine
    /// The name of the check that found the defect; nil if no check did.
    let catcher: String?
    /// The name of the scenario, program or subject that found it.
    let place: String?
    let seconds: Double
    /// The extent of a search that found nothing.
    let extent: String?
}
