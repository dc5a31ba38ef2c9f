// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The types of source of which the runtime has made everything that their use needs.
///
/// The runtime makes a generic type on its first use, under a lock of its own. A fork may find that
/// lock taken by a thread that does not exist in the child. So the types that a source needs are
/// made with the first source of its kind, behind the fork gate. The child then finds them without
/// a lock. (P18)
@usableFromInline
internal enum KnownTypes {
    /// Types by a hash of their addresses. A type that another has displaced is made known again:
    /// that costs time, nothing else.
    private static let table = (0..<1024).map { _ in Word() }

    private final class Word: Sendable {
        let type = Atomic<UInt>(0)
    }

    /// Makes the table. See `Fork.prepare()`.
    static func prepare() { _ = table.count }

    /// Has the runtime make types and their layouts, unless that was done for `type`. Any thread,
    /// under no lock.
    ///
    /// - Parameters:
    ///   - type: The type that stands for them all.
    ///   - types: Names the types.
    ///   - size: Adds up the sizes of those whose layout depends on others.
    @usableFromInline
    static func make(for type: ObjectIdentifier, _ types: () -> [any (~Copyable).Type], size: () -> Int) {
        // Safe: nothing is done with the record. The table is made before it.
        _ = unsafe ThreadRecord.current
        let address = UInt(bitPattern: type)
        // The upper ten bits of the product: a slot of the table. ("Fibonacci hashing", Knuth.)
        let word = table[Int((address &* 0x9E37_79B9_7F4A_7C15) >> 54)]
        // Acquire: pairs with the release below; the types exist, which another thread has had
        // made.
        if word.type.load(ordering: .acquiring) == address { return }
        // A fork waits until the types exist. Used for what is stored, so that the compiler does
        // not leave them out.
        let isMade = ForkGate.pass { types().count > 0 && size() >= 0 }
        // Release: pairs with the acquire above.
        word.type.store(isMade ? address : 0, ordering: .releasing)
    }
}
