// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

// Observed properties whose types the compiler infers, and weak properties. Separate types contain
// them, and `Properties` finds them there as dynamic members.

extension ConcurrentObservableMacro {
    /// Returns the types and the storage of the dynamic members; nothing if there are none.
    static func dynamic(_ model: ModelClass, _ context: some MacroExpansionContext) -> [DeclSyntax] {
        dynamic(
            model,
            context,
            "found as dynamic members",
            ObservedVariable.dynamicType,
            ObservedVariable.dynamicStorage
        ) { !$0.isReadOnly }
            + dynamic(
                model,
                context,
                "found as dynamic members, and shown read-only",
                ObservedVariable.readOnlyDynamicType,
                ObservedVariable.readOnlyDynamicStorage
            ) { $0.isReadOnly }
    }

    /// Returns the type for the included members, and its storage.
    ///
    /// The compiler reports errors in the properties of this type, such as a value that is not
    /// Sendable, at the lines of the variables.
    private static func dynamic(
        _ model: ModelClass,
        _ context: some MacroExpansionContext,
        _ description: String,
        _ type: String,
        _ storage: String,
        where isIncluded: (ObservedVariable) -> Bool
    ) -> [DeclSyntax] {
        guard model.has(where: { $0.isDynamic && isIncluded($0) }) else { return [] }
        let properties = model.lines { variable in
            guard variable.isDynamic, isIncluded(variable) else { return nil }
            let property = "\(variable.access)let \(variable.name) = \(variable.construction)"
            guard
                let place = context.location(
                    of: variable.binding,
                    at: .afterLeadingTrivia,
                    filePathMode: .filePath
                )
            else { return property }
            return "#sourceLocation(file: \(place.file), line: \(place.line))\n\(property)\n#sourceLocation()"
        }
        return [
            """
            /// The observed properties that are \(raw: description).
            \(raw: model.access)nonisolated struct \(raw: type): Sendable {
                \(raw: properties.joined(separator: "\n    "))
            }
            """,
            "private let \(raw: storage) = \(raw: type)()",
        ]
    }
}

/// The kinds of observed properties that are found as dynamic members.
enum DynamicKind: CaseIterable {
    case plain, weak, readOnly

    func includes(_ variable: ObservedVariable) -> Bool {
        guard variable.isDynamic else { return false }
        return switch self {
        case .plain: !variable.isWeak && !variable.isReadOnly
        case .weak: variable.isWeak
        case .readOnly: variable.isReadOnly
        }
    }

    /// Returns the subscript that finds the members of this kind.
    func `subscript`(access: String) -> [String] {
        let isReadOnly = self == .readOnly
        let type = isReadOnly ? ObservedVariable.readOnlyDynamicType : ObservedVariable.dynamicType
        let storage = isReadOnly ? ObservedVariable.readOnlyDynamicStorage : ObservedVariable.dynamicStorage
        let isWeak = self == .weak
        let bound = isWeak ? "ConcurrentObserve.WeaklyObservable" : "Sendable"
        let stored = "\(isWeak ? ObservedVariable.weakObserved : ObservedVariable.observed)<ObservedValue>"
        let shown = isReadOnly ? "\(ObservedVariable.readOnly)<ObservedValue>" : stored
        let member = "any KeyPath<\(type), \(stored)> & Sendable"
        return [
            "\(access)subscript <ObservedValue: \(bound)>(dynamicMember member: \(member)) -> \(shown) {",
            "    _object.\(storage)[keyPath: member]\(isReadOnly ? ".readOnly" : "")",
            "}",
        ]
    }
}
#endif
