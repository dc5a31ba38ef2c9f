// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax

// The constants of a model. `Properties` has each of them as a dynamic member, a `_Constant`. So a
// derived value that follows the model can read them. A constant whose type is not Sendable, or not
// copyable, cannot be found as a member.

extension ConcurrentObservableMacro {
    private static let type = "_Constants"

    /// Returns the type that contains the constants; nothing if there are none.
    static func constants(_ model: ModelClass) -> [DeclSyntax] {
        guard model.hasConstants else { return [] }
        return [
            """
            /// The constants, found as dynamic members.
            \(raw: model.access)nonisolated struct \(raw: type): Sendable {
                fileprivate let _object: \(raw: model.name)
                \(raw: model.constantLines.joined(separator: "\n    "))
            }
            """
        ]
    }

    /// Returns the subscript that finds the constants.
    static func constantsSubscript(access: String) -> [String] {
        let member = "any KeyPath<\(type), ConstantValue> & Sendable"
        let constant = "ConcurrentObserve._Constant"
        return [
            "\(access)subscript <ConstantValue: Sendable>(dynamicMember member: \(member)) -> \(constant)<ConstantValue> {",
            "    \(constant)(\(type)(_object: _object)[keyPath: member])",
            "}",
        ]
    }
}

extension ModelClass {
    /// Whether one of the constants is found as a dynamic member.
    var hasConstants: Bool { constantLines.contains { !$0.hasPrefix("#") } }

    /// The generated lines, one declaration for each constant, and the `#if` conditions around
    /// them. A constant is included if code outside the class may read it, and the source text
    /// shows its type.
    fileprivate var constantLines: [String] {
        declarationLines(of: members) { declaration in
            let access = declaration.modifiers.getterAccess
            guard declaration.bindingSpecifier.tokenKind == .keyword(.let), access > .private,
                declaration.attributes.isEmpty,
                declaration.modifiers.allSatisfy({ Access(rawValue: $0.name.text) != nil })
            else { return nil }
            let lines = declaration.bindings.compactMap { binding -> String? in
                guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text,
                    case .known(let type) = binding.valueType, !type.isOpaque, !type.isProperty
                else { return nil }
                // The getter does not copy the value, because its type may not be copyable.
                return "\(access.asStorage)var \(name): \(type) { _read { yield _object.\(name) } }"
            }
            return lines.isEmpty ? nil : lines.joined(separator: "\n    ")
        }
    }
}

extension TypeSyntax {
    /// Whether the type is `some P`. Another declaration cannot name this type.
    fileprivate var isOpaque: Bool { tokens(viewMode: .sourceAccurate).contains { $0.tokenKind == .keyword(.some) } }

    /// Whether the type is one of the library's properties. Reads of the property in such a
    /// constant would not be followed.
    fileprivate var isProperty: Bool {
        let name = self.as(IdentifierTypeSyntax.self)?.name.text ?? self.as(MemberTypeSyntax.self)?.name.text
        return ["Observed", "WeakObserved", "ReadOnly", "Derived", "Group", "PropertyList"].contains(name)
    }
}
#endif
