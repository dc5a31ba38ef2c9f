// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A user's name and role.
struct User: Equatable, Sendable {
    var name: String
    var roles: Set<String>
    var isSuspended = false
}

/// Which roles may do what, until the next policy takes its place.
struct Policy: Equatable, Sendable {
    var rights: [String: Set<String>]
    /// A user who is suspended may do this, and nothing else.
    var whileSuspended: Set<String> = []
}

/// Knows what its user may do, by the policy that all sessions share.
///
/// Unobserved, it is registered nowhere: a session that ends leaves nothing behind in the policy.
final class Session: Sendable {
    let user: Observed<User>
    let rights: Derived<Set<String>>

    init(_ user: User, under policy: Observed<Policy>) {
        let user = Observed(user)
        self.user = user
        rights = Derived(user, policy) { user, policy in
            if user.isSuspended { return policy.whileSuspended }
            return user.roles.reduce(into: []) { rights, role in rights.formUnion(policy.rights[role] ?? []) }
        }
    }

    /// Any thread, for each request: a read of a value that has not changed takes no lock, and
    /// computes nothing.
    func may(_ action: String) -> Bool { rights.value.contains(action) }
}
