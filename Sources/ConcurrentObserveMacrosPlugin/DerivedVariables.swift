// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

// The derived variables of a class. A separate type contains them. It makes each of them when it is
// first needed.

extension DerivedVariable {
    /// The name of the class's member that contains the derived variables. `storageType` is the
    /// name of this member's type.
    static let storage = "_derivedProperties"
    static let storageType = "_DerivedProperties"

    /// The type of a derived value, without the type of its results.
    static let derived = "ConcurrentObserve.Derived"
}

extension ConcurrentObservableMacro {
    /// Returns the type and the storage of the derived variables; nothing if there are none.
    static func derived(_ model: ModelClass, _ context: some MacroExpansionContext) -> [DeclSyntax] {
        let members = model.derivedLines { variable in
            """
            let _\(variable.name.bare) = ConcurrentObserve._DerivedStorage<\(variable.type)>()
            func \(variable.name)(of \(DerivedBody.object): \(model.name)) -> \(DerivedVariable.derived)<\(variable.type)> {
            \(model.making(variable, context))
            }
            """
        }
        guard members.contains(where: { !$0.hasPrefix("#") }) else { return [] }
        return [
            """
            /// The derived variables: each is made when it is first needed, of what its body reads.
            private nonisolated struct \(raw: DerivedVariable.storageType): ~Copyable, Sendable {
                \(raw: members.joined(separator: "\n"))
            }
            """,
            "private let \(raw: DerivedVariable.storage) = \(raw: DerivedVariable.storageType)()",
        ]
    }
}

extension ModelClass {
    /// Returns the lines that `line` makes from the derived variables, inside the same `#if`
    /// conditions.
    func derivedLines(_ line: (DerivedVariable) -> String?) -> [String] {
        let lines = declarationLines(of: members) { declaration in
            guard case .derived(let variable) = DerivedVariable.read(declaration, privateTypes: privateTypes)
            else { return nil }
            return line(variable)
        }
        // Lines that contain only conditions are left out.
        return lines.allSatisfy { $0.hasPrefix("#") } ? [] : lines
    }

    /// Returns an expression that gives the derived value of a variable of `_object`.
    func derivedOf(_ variable: DerivedVariable) -> String {
        "_object.\(DerivedVariable.storage).\(variable.name)(of: _object)"
    }

    private var derivedNames: DerivedNames { DerivedNames(members, privateTypes: privateTypes) }

    /// Returns the problems of a variable, if it has the mark of a derived one.
    func derivedProblems(of declaration: VariableDeclSyntax) -> [Diagnostic] {
        switch DerivedVariable.read(declaration) {
        case .unmarked: return []
        case .refused(let problem): return [problem]
        case .derived(let variable):
            let body = DerivedBody(variable, derivedNames, model: name)
            _ = body.statements
            guard body.problems.isEmpty else { return body.problems }
            return cycle(from: variable.name.bare).map { path in
                [
                    Diagnostic(
                        at: declaration.bindings.first!.pattern,
                        "derived-cycle",
                        "'\(variable.name)' needs itself: \(path.joined(separator: " → "))"
                    )
                ]
            } ?? []
        }
    }

    /// Returns the path of derived variables by which `start` needs itself; nil if it does not.
    private func cycle(from start: String) -> [String]? {
        let needs = neededDerived
        var seen: Set<String> = []
        func search(_ path: [String]) -> [String]? {
            for next in needs[path.last!, default: []] {
                if next == start { return path + [next] }
                if seen.insert(next).inserted, let found = search(path + [next]) { return found }
            }
            return nil
        }
        return search([start])
    }

    /// The derived variables that the body of each derived variable names.
    private var neededDerived: [String: [String]] {
        var needs: [String: [String]] = [:]
        let names = derivedNames
        _ = derivedLines { variable in
            let body = DerivedBody(variable, names, model: name)
            _ = body.statements
            needs[variable.name.bare, default: []] += body.captures.sorted { $0.key < $1.key }.compactMap {
                if case .derived = $0.value { $0.key } else { nil }
            }
            return nil
        }
        return needs
    }

    /// Returns the code that makes a derived variable.
    ///
    /// Its function captures the properties that the body reads. It does not capture the object,
    /// because the object retains the function. The compiler reports errors in the body at the
    /// lines of the variable.
    fileprivate func making(_ variable: DerivedVariable, _ context: some MacroExpansionContext) -> String {
        let body = DerivedBody(variable, derivedNames, model: name)
        let statements = body.statements.trimmedDescription
        // A variable with an error gets no function. The program does not compile anyway.
        guard body.problems.isEmpty, cycle(from: variable.name.bare) == nil else { return "fatalError()" }
        let (object, followed) = (DerivedBody.object, "ConcurrentObserve._FollowedProperty")
        let captures = body.captures.sorted { $0.key < $1.key }
        // Each capture has its own statement. So the compiler knows its type before it checks the
        // body.
        var lines =
            ["_\(variable.name.bare).derived {"]
            + captures.map { name, kind in
                switch kind {
                case .observed(let storage): "let _\(name) = \(followed)(\(object).\(storage))"
                case .derived:
                    "let _\(name) = \(followed)(\(object).\(DerivedVariable.storage).`\(name)`(of: \(object)))"
                default: "let _\(name) = \(followed)(ConcurrentObserve._Constant(\(object).`\(name)`))"
                }
            }
        let list = captures.isEmpty ? "" : "[\(captures.map { "_\($0.key)" }.joined(separator: ", "))] "
        let parameter = "(\(DerivedBody.reader): borrowing ConcurrentObserve.Reader) -> \(variable.type)"
        let place = variable.body.first.flatMap {
            context.location(of: $0, at: .afterLeadingTrivia, filePathMode: .filePath)
        }
        lines.append("return \(DerivedVariable.derived) { \(list)\(parameter) in")
        if let place { lines.append("#sourceLocation(file: \(place.file), line: \(place.line))") }
        lines.append(statements)
        if place != nil { lines.append("#sourceLocation()") }
        lines += ["}", "}"]
        return lines.joined(separator: "\n")
    }
}
#endif
