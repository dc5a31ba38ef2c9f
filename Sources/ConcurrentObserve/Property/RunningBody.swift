// SPDX-License-Identifier: Apache-2.0

/// Names the properties in the message about a change inside the body of a `modify` or of a commit.
///
/// A thread's record has one word for the body that the thread runs: the address of the property's
/// mutation lock, or, for a commit, the address of a `RunningCommit`, with the lowest bit set. Only
/// the code that makes the message uses the word as an address; all other code only tests whether
/// it is 0.
internal enum RunningBody {
    /// Returns the word for the body of a commit: the address of its `RunningCommit`, with the
    /// lowest bit set.
    static func word(of commit: UnsafePointer<RunningCommit>) -> UInt { UInt(bitPattern: commit) | 1 }

    /// A description of the body that the calling thread runs, for the messages of traps.
    static var current: String {
        // Safe: records are never freed; the word is the calling thread's, whose body has not
        // returned.
        let word = unsafe ThreadRecord.current.pointee.body
        guard word & 1 == 1 else { return "the modify of \(name(ofLockAt: word))" }
        // Safe: as above; the commit keeps it until its body has returned.
        let commit = unsafe UnsafePointer<RunningCommit>(bitPattern: word & ~1).unsafelyUnwrapped.pointee
        let names = unsafe commit.names(commit.members)
        let others = names.count > few ? ", and \(names.count - few) others" : ""
        return "the commit of \(names.prefix(few).joined(separator: ", "))\(others)"
    }

    /// The largest number of members of a commit that a message names.
    private static var few: Int { 8 }

    /// Returns the label and the type of a property.
    ///
    /// - Parameter address: The address of its mutation lock.
    static func name(ofLockAt address: UInt) -> String {
        // The lock has the same place in every property: nothing before it depends on the type of
        // the value.
        let other = Observed(0)
        let object = unsafe UInt(bitPattern: Unmanaged.passUnretained(other).toOpaque())
        let distance = other.mutation.address - object
        // Safe: the lock is a part of its property, which the caller of the change keeps.
        let property = unsafe Unmanaged<AnyObject>.fromOpaque(
            UnsafeRawPointer(bitPattern: address - distance).unsafelyUnwrapped
        ).takeUnretainedValue()
        return name(of: property)
    }

    /// Returns the label and the type of a property.
    static func name(of property: AnyObject) -> String {
        (property as? any NamedProperty)?.nameInMessages ?? "a property"
    }
}

/// The data for the message about a change inside the body of a commit. It is on the stack of the
/// commit.
@safe internal struct RunningCommit {
    /// The address of the list of the commit's members. It is the argument for `names`.
    let members: UnsafeRawPointer
    /// Returns the names of the members in the list at an address. It is called only for the
    /// message.
    let names: (UnsafeRawPointer) -> [String]
}

/// A property that can describe itself in messages.
private protocol NamedProperty: AnyObject {
    var nameInMessages: String { get }
}

extension Observed: NamedProperty {
    fileprivate var nameInMessages: String {
        let type =
            (Value.self as? any RefersWeakly.Type).map { "WeakObserved<\($0.referentType)>" }
            ?? "Observed<\(Value.self)>"
        return label.isEmpty ? "a property of type \(type)" : "the property '\(label)' of type \(type)"
    }
}
