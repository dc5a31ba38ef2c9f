// SPDX-License-Identifier: Apache-2.0

/// What a binding makes of a change of a commit, whatever its type: kept until all bindings of the commit's changes have made theirs.
internal class CarriedChange {
    // Handed from function to function on one thread.
    /// The binding's observer: while it is held, so is what identifies its source.
    let observer: Observer

    init(_ observer: Observer) { self.observer = observer }

    /// What is changed.
    var destination: any CommitMember { preconditionFailure("a change has a destination") }

    /// Where the destination's draft is.
    var lockAddress: UInt { preconditionFailure("a change has a destination") }

    /// Where the draft of the member was whose change the binding has received.
    final var sourceAddress: UInt = 0
    /// What connected bindings have in common, if the destination is one of the properties that the commit has set; else 0.
    final var component: UInt = 0

    /// Whether it is decided together with others of its kind.
    var isOfPair: Bool { false }

    /// Whether it goes from the second side of a pair to the first.
    var goesBack: Bool { false }

    /// Runs `body`, which decides changes of this kind, while no other thread does. Under the locks of all destinations.
    func decideTogether(_ body: () -> Void) { body() }

    /// Sets the destination's draft, if the binding may still change it. Under the locks of all destinations.
    func draft(in transaction: borrowing Transaction) -> Bool { preconditionFailure("a change has a destination") }

    /// Runs `body`, which announces the change under its version, in the course of what has led to it.
    func propagate(_ version: UInt64, _ body: () -> Void) { body() }
}
