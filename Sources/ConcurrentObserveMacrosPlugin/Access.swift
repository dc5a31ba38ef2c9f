// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax

/// The access levels of a declaration, the narrowest first.
enum Access: String, CaseIterable, Comparable {
    case `private`, `fileprivate`, `internal`, package, `public`, open

    static func < (left: Access, right: Access) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self)! }

    /// The modifier for a member of `Properties`, followed by a space.
    ///
    /// `Properties` is nested in the class. A private member is `fileprivate` there, because the
    /// class must see it.
    var asMember: String { self == .private ? "fileprivate " : asStorage }

    /// The modifier for a member of the class, followed by a space. Empty for the default level.
    var asStorage: String {
        switch self {
        case .internal: ""
        case .open: "public "
        default: rawValue + " "
        }
    }
}

extension DeclModifierListSyntax {
    /// The access level of the variable's getter.
    var getterAccess: Access { access { $0.detail == nil } ?? .internal }

    /// The access level of the variable's setter.
    var setterAccess: Access { access { $0.detail?.detail.text == "set" } ?? getterAccess }

    private func access(where isMeant: (DeclModifierSyntax) -> Bool) -> Access? {
        lazy.filter(isMeant).compactMap { Access(rawValue: $0.name.text) }.first
    }
}
#endif
