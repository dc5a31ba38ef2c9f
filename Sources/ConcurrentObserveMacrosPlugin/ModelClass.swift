// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// A class that can be a model: final, and isolated to no actor.
struct ModelClass {
    let name: String
    /// The modifier for the members that the macro adds, followed by a space. Empty if the class is
    /// neither public nor package.
    let access: String
    /// The names of the private types of the class.
    let privateTypes: Set<String>
    /// Whether the class has its own `cancelAllObservations()`.
    let cancelsObservations: Bool
    let members: MemberBlockItemListSyntax

    enum Reading {
        case read(ModelClass)
        case refused(Diagnostic)
    }

    /// Reads the declaration that has the attribute.
    static func read(_ declaration: some DeclGroupSyntax, attribute: AttributeSyntax) -> Reading {
        guard let model = declaration.as(ClassDeclSyntax.self) else {
            return .refused(notAClass(declaration, attribute))
        }
        if let isolation = isolation(of: model) {
            return .refused(
                Diagnostic(
                    at: isolation,
                    "isolated-model",
                    "'@ConcurrentObservable' makes a model for every thread, which no actor isolates",
                    remedy: "remove '\(isolation.trimmedDescription)'",
                    changes: [
                        .replace(
                            oldNode: Syntax(model.attributes),
                            newNode: Syntax(model.attributes.filter { $0.id != isolation.id })
                        )
                    ]
                )
            )
        }
        guard model.modifiers.contains(where: { $0.name.tokenKind == .keyword(.final) }) else {
            return .refused(notFinal(model))
        }
        let members = model.memberBlock.members
        if let nested = nestedProperties(of: model) {
            return .refused(
                Diagnostic(
                    at: nested,
                    "nested-properties",
                    "'@ConcurrentObservable' calls the type of the observed properties 'Properties'; give this type another name"
                )
            )
        }
        if let codable = Codability.problem(of: model) { return .refused(codable) }
        return .read(
            ModelClass(
                name: model.name.text,
                access: access(of: model.modifiers),
                privateTypes: Set(members.compactMap(\.nestedType).filter(\.isPrivate).map(\.name.text)),
                cancelsObservations: members.contains {
                    $0.decl.as(FunctionDeclSyntax.self)?.cancelsObservations == true
                },
                members: members
            )
        )
    }

    private static func notAClass(_ declaration: some DeclGroupSyntax, _ attribute: AttributeSyntax) -> Diagnostic {
        let message = "'@ConcurrentObservable' needs a final class: observers belong to an object"
        guard let value = declaration.as(StructDeclSyntax.self) else {
            if declaration.is(ActorDeclSyntax.self) {
                return Diagnostic(at: attribute, "not-a-class", message + "; an actor guards its state itself")
            }
            return Diagnostic(at: attribute, "not-a-class", message)
        }
        let keyword = value.structKeyword
        return Diagnostic(
            at: attribute,
            "not-a-class",
            message,
            remedy: "make '\(value.name.text)' a final class",
            changes: [
                .replace(
                    oldNode: Syntax(keyword),
                    newNode: Syntax(keyword.with(\.tokenKind, .identifier("final class")))
                )
            ]
        )
    }

    private static func notFinal(_ model: ClassDeclSyntax) -> Diagnostic {
        let final: FixIt.Change
        if let open = model.modifiers.first(where: { $0.name.tokenKind == .keyword(.open) }) {
            final = .replace(
                oldNode: Syntax(open.name),
                newNode: Syntax(open.name.with(\.tokenKind, .identifier("public final")))
            )
        } else {
            final = .replace(
                oldNode: Syntax(model.classKeyword),
                newNode: Syntax(model.classKeyword.with(\.tokenKind, .identifier("final class")))
            )
        }
        return Diagnostic(
            at: model.classKeyword,
            "not-final",
            "'@ConcurrentObservable' needs a final class: a subclass could add what is not Sendable",
            remedy: "add 'final'",
            changes: [final]
        )
    }

    /// Returns the attribute that isolates the class: `@MainActor`. Other global actors cannot be
    /// distinguished from other attributes.
    private static func isolation(of model: ClassDeclSyntax) -> AttributeSyntax? {
        model.attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.simpleName == "MainActor" }
    }

    /// Returns the name of a nested type that is called `Properties`, like the type that the macro
    /// adds.
    static func nestedProperties(of model: ClassDeclSyntax) -> TokenSyntax? {
        model.memberBlock.members.lazy.compactMap(\.nestedType).first { $0.name.text == "Properties" }?.name
    }

    static func access(of modifiers: DeclModifierListSyntax) -> String {
        for modifier in modifiers {
            switch modifier.name.tokenKind {
            // A member that the macro adds to an open class is public, and not open.
            case .keyword(.public), .keyword(.open): return "public "
            case .keyword(.package): return "package "
            default: break
            }
        }
        return ""
    }
}

extension MemberBlockItemSyntax {
    /// The name of the type that the member declares, and whether the type is private. Nil if the
    /// member declares no type.
    fileprivate var nestedType: (name: TokenSyntax, isPrivate: Bool)? {
        guard let type = decl.asProtocol((any NamedDeclSyntax).self),
            decl.is(TypeAliasDeclSyntax.self) || decl.isProtocol((any DeclGroupSyntax).self)
        else { return nil }
        let modifiers = decl.asProtocol((any WithModifiersSyntax).self)?.modifiers ?? []
        return (type.name, modifiers.contains { $0.name.tokenKind == .keyword(.private) })
    }
}

extension FunctionDeclSyntax {
    fileprivate var cancelsObservations: Bool {
        name.text == "cancelAllObservations" && signature.parameterClause.parameters.isEmpty
    }
}
#endif
