// SPDX-License-Identifier: Apache-2.0

/// A change that a binding makes from a change of a commit, whatever its type. It is kept until all
/// bindings that receive the commit have made theirs.
internal class CarriedChange {
    // Passed from function to function on one thread.
    /// The binding's observer. While it is retained, the identity of its source stays valid.
    let observer: Observer

    init(_ observer: Observer) { self.observer = observer }

    /// The property to change.
    var destination: any CommitMember { preconditionFailure("a change has a destination") }

    /// The lock address of the destination, by which its draft is found.
    var lockAddress: UInt { preconditionFailure("a change has a destination") }

    /// The lock address of the member whose change the binding has received.
    final var sourceAddress: UInt = 0
    /// Names the set of connected bindings that this one belongs to, if the commit has set the
    /// destination, too; otherwise 0.
    final var component: UInt = 0

    /// Whether the binding is two-way: such changes are decided together.
    var isOfPair: Bool { false }

    /// Whether the change goes from the second side of a pair to the first.
    var goesBack: Bool { false }

    /// Runs `body`, which decides changes of two-way bindings, while no other thread decides any.
    /// The caller must hold the mutation locks of all destinations.
    func decideTogether(_ body: () -> Void) { body() }

    /// Sets the destination's draft, if the binding may still change it. Returns whether it did.
    /// The caller must hold the mutation locks of all destinations.
    func draft(in transaction: borrowing Transaction) -> Bool { preconditionFailure("a change has a destination") }

    /// Runs `body`, which announces the change under its version, as a step of the propagation that
    /// led to it.
    func propagate(_ version: UInt64, _ body: () -> Void) { body() }
}
