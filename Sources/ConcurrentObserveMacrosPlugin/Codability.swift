// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// Checks the conformances whose methods the compiler would write from the stored properties of a
/// class. The stored properties of a model are its observed properties.
enum Codability {
    /// Reports the methods that are missing in a class that declares `Codable`, `Decodable` or
    /// `Encodable`.
    ///
    /// Without this report, the compiler would report errors in the observed properties.
    static func problem(of model: ClassDeclSyntax) -> Diagnostic? {
        let members = model.memberBlock.members
        guard
            let written = model.inheritanceClause?.inheritedTypes.first(where: { names(of: $0.type).isEmpty == false }),
            members.hasVariables
        else { return nil }
        var missing: [String] = []
        if names(of: written.type).contains("Decodable"), !members.hasDecodingInitialiser {
            missing.append("init(from: any Decoder)")
        }
        if names(of: written.type).contains("Encodable"), !members.hasEncodingMethod {
            missing.append("encode(to: any Encoder)")
        }
        guard !missing.isEmpty else { return nil }
        let text = written.type.trimmedDescription
        return Diagnostic(
            at: written.type,
            "codable",
            "'\(text)' cannot be written by the compiler for observed variables; write '\(missing.joined(separator: "' and '"))' in the class, or state '\(text)' at the extension that has them"
        )
    }

    /// Returns the names of those of the protocols `Decodable` and `Encodable` that `type`
    /// contains.
    private static func names(of type: TypeSyntax) -> [String] {
        switch type.as(TypeSyntaxEnum.self) {
        case .identifierType(let named): names(of: named.name.text)
        case .memberType(let member) where member.baseType.trimmedDescription == "Swift": names(of: member.name.text)
        case .compositionType(let composition): composition.elements.flatMap { names(of: $0.type) }
        default: []
        }
    }

    private static func names(of text: String) -> [String] {
        switch text {
        case "Codable": ["Decodable", "Encodable"]
        case "Decodable", "Encodable": [text]
        default: []
        }
    }
}

extension MemberBlockItemListSyntax {
    fileprivate var hasVariables: Bool {
        contains { member in
            guard let variable = member.decl.as(VariableDeclSyntax.self) else {
                return member.decl.is(IfConfigDeclSyntax.self)
            }
            if case .observed = ObservedVariable.read(variable) { return true }
            return false
        }
    }

    fileprivate var hasDecodingInitialiser: Bool {
        contains { $0.decl.as(InitializerDeclSyntax.self)?.signature.firstLabel == "from" }
    }

    fileprivate var hasEncodingMethod: Bool {
        contains { member in
            guard let function = member.decl.as(FunctionDeclSyntax.self) else { return false }
            return function.name.text == "encode" && function.signature.firstLabel == "to"
        }
    }
}

extension FunctionSignatureSyntax {
    /// The label of the only parameter; nil if there is not exactly one parameter.
    fileprivate var firstLabel: String? {
        parameterClause.parameters.count == 1 ? parameterClause.parameters.first!.firstName.text : nil
    }
}
#endif
