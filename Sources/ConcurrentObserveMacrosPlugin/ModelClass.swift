// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// A class that can be a model: final, and isolated to no actor.
struct ModelClass {
    let name: String
    /// The access of what is added to it, with a space behind; empty for that of the class itself.
    let access: String

    enum Reading {
        case read(ModelClass)
        case refused(Diagnostic)
    }

    /// Reads the declaration that the attribute stands at.
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
        return .read(ModelClass(name: model.name.text, access: access(of: model.modifiers)))
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

    /// An attribute that isolates the class: `@MainActor`. Other global actors cannot be told from other attributes.
    private static func isolation(of model: ClassDeclSyntax) -> AttributeSyntax? {
        model.attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.simpleName == "MainActor" }
    }

    private static func access(of modifiers: DeclModifierListSyntax) -> String {
        for modifier in modifiers {
            switch modifier.name.tokenKind {
            case .keyword(.public): return "public "
            case .keyword(.package): return "package "
            default: break
            }
        }
        return ""
    }
}
#endif
