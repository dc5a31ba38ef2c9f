// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax

/// How far a declaration can be seen, from the narrowest on.
enum Access: String, CaseIterable, Comparable {
    case `private`, `fileprivate`, `internal`, package, `public`, open

    static func < (left: Access, right: Access) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self)! }

    /// The modifier of a member of `Properties`, with a space behind.
    ///
    /// The class, in which `Properties` is nested, must see its private ones.
    var asMember: String { self == .private ? "fileprivate " : asStorage }

    /// The modifier of a member of the class, with a space behind; nothing for the default.
    var asStorage: String {
        switch self {
        case .internal: ""
        case .open: "public "
        default: rawValue + " "
        }
    }
}

extension DeclModifierListSyntax {
    /// Who may read the variable.
    var getterAccess: Access { access { $0.detail == nil } ?? .internal }

    /// Who may set the variable.
    var setterAccess: Access { access { $0.detail?.detail.text == "set" } ?? getterAccess }

    private func access(where isMeant: (DeclModifierSyntax) -> Bool) -> Access? {
        lazy.filter(isMeant).compactMap { Access(rawValue: $0.name.text) }.first
    }
}
#endif
