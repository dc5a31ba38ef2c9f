// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
/// A bug that is switched on in the instrumented build, to prove that a check can fail.
struct Mutant: Sendable {
    /// As the library's source names it.
    let name: StaticString
    /// Where it is looked for.
    let scenario: String
    /// What must catch it: an invariant, a crash, a hang, or a sanitizer's report.
    let catchers: [Catcher]
    /// How long the scenario runs at most.
    var budget: Duration = .seconds(20)

    enum Catcher: Sendable, Equatable {
        case invariant(String)
        case crash
        case hang
        case report(Sanitizer)

        var text: String {
            switch self {
            case .invariant(let name): name
            case .crash: "crash"
            case .hang: "hang"
            case .report(let sanitizer): "\(sanitizer.rawValue) sanitizer"
            }
        }
    }

    /// The build in which it is looked for; nil means without a sanitizer.
    var engine: Sanitizer? {
        for case .report(let sanitizer) in catchers { return sanitizer }
        return nil
    }

    static func named(_ name: String) -> Mutant? { all.first { $0.name.description == name } }
}
#endif
