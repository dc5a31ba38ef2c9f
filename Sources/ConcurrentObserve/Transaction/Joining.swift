// SPDX-License-Identifier: Apache-2.0

/// Describes how a `Combination` observes a property, a group or a list, without retaining it.
///
/// To *join* a combination is to become one of the properties that it observes. If a group or a
/// list is a member of another group, it is not observed itself: its own members join the
/// combination. A commit therefore reaches the combination under the members' locks. (P11, P21)
@usableFromInline
internal struct Joining<Value: Sendable>: Sendable {
    /// Makes a combination observe the properties from which the value is made. Returns a function
    /// that reads the value; nil if one of the properties is gone.
    let join: @Sendable (any Joined) -> (@Sendable () -> Value)?

    init(_ join: @escaping @Sendable (any Joined) -> (@Sendable () -> Value)?) { self.join = join }
}

extension ObservableProperty {
    /// Describes how a combination observes the property.
    internal var joining: Joining<Value> {
        if let group = self as? any Joinable { return group.makeJoining(as: Value.self) }
        let attach = weakAttachment
        return Joining { (combination: any Joined) -> (@Sendable () -> Value)? in
            guard let slot = combination.join(attach) else { return nil }
            return { slot.value }
        }
    }
}

/// The functions of a `Combination` that do not depend on its value's type.
internal protocol Joined: AnyObject, Sendable {
    /// Observes a property, to which `attach` attaches an observer. Returns the slot that has the
    /// property's latest value; nil if the property is gone.
    func join<Member: Sendable>(_ attach: @Sendable (PropertyObserver<Member>) -> ObservationToken?) -> MemberSlot<
        Member
    >?

    /// Takes the changes that are staged in the slots, as one change. Runs no user code.
    ///
    /// - Parameters:
    ///   - commit: The number of the commit.
    ///   - replaced: Receives values that the caller must destroy under no lock. (P5)
    func take(_ slots: [AnyMemberSlot], of commit: UInt64, _ replaced: inout [Any])
}

/// A group or a list, whose own members join a combination.
internal protocol Joinable {
    func makeJoining<Value: Sendable>(as value: Value.Type) -> Joining<Value>
}

extension Group: Joinable {
    // Safe to force, both: the caller passes the type of this group's or list's own values.
    func makeJoining<Other: Sendable>(as value: Other.Type) -> Joining<Other> { makeJoining() as! Joining<Other> }
}

extension PropertyList: Joinable {
    func makeJoining<Other: Sendable>(as value: Other.Type) -> Joining<Other> { makeJoining() as! Joining<Other> }

    /// Describes how a combination observes the list.
    func makeJoining() -> Joining<[Property.Value]> {
        let joinings = properties.map(\.joining)
        return Joining { (combination: any Joined) -> (@Sendable () -> [Property.Value])? in
            let reads = joinings.compactMap { $0.join(combination) }
            guard reads.count == joinings.count else { return nil }
            return { reads.map { $0() } }
        }
    }
}

/// The part of a combination that belongs to one member, whatever the member's type.
///
/// A commit first *stages* its change of the member in the slot. When the changes of all members
/// are staged, the combination takes all of them together.
internal class AnyMemberSlot: AttachmentClaim, @unchecked Sendable {
    // Unchecked: guarded by the combination's lock, here and in the subclass.
    /// The version of the latest value; nil before the first value has come.
    fileprivate final var version: UInt64?
    /// The version of the staged change; nil if there is none. The member's mutation lock guards
    /// it.
    fileprivate final var stagedVersion: UInt64?

    override init() {}

    /// Whether the slot has no value yet. The caller must hold the combination's lock.
    final var isEmpty: Bool { version == nil }

    /// Whether the slot still lacks the member's change that comes directly before the staged
    /// change. The caller must hold the combination's lock.
    final var isBehind: Bool {
        guard let version, let stagedVersion else { return false }
        return version + 1 < stagedVersion
    }

    /// Stores, as the latest value, the value that the staged change has replaced. The caller must
    /// hold the combination's lock.
    ///
    /// - Parameter replaced: Receives values for the caller to destroy under no lock. (P5)
    func takeOldLocked(_ replaced: inout [Any]) {}

    /// Stores, as the latest value, the staged value. The caller must hold the combination's lock.
    ///
    /// - Parameter replaced: Receives values for the caller to destroy under no lock. (P5)
    func takeStagedLocked(_ replaced: inout [Any]) {}
}

/// Stores the latest value of one member, and the staged change.
///
/// The values lie in memory that the slot allocates, and are moved by address. This code is
/// compiled once, for members of any type. If it used an optional or a tuple of values, it would
/// look up the type of that optional or tuple in the runtime's tables each time.
@safe
internal final class MemberSlot<Member: Sendable>: AnyMemberSlot, @unchecked Sendable {
    // Unchecked: as in the superclass; the two staged values are guarded by the member's mutation
    // lock.
    private let latest = UnsafeMutablePointer<Member>.allocate(capacity: 3)
    /// The address of the value that the staged change replaces.
    private var old: UnsafeMutablePointer<Member> { unsafe latest + 1 }
    /// The address of the value that the staged change publishes.
    private var new: UnsafeMutablePointer<Member> { unsafe latest + 2 }

    deinit {
        // Safe, all: no thread has a reference any more; the versions say which values are there.
        if version != nil { unsafe latest.deinitialize(count: 1) }
        if stagedVersion != nil { unsafe old.deinitialize(count: 2) }
        unsafe latest.deallocate()
    }

    // Safe, all that follow: the slot owns the memory, the version says whether there is a value,
    // and the lock keeps other threads out.

    /// The latest value. The slot must not be empty, and the caller must hold the combination's
    /// lock.
    var value: Member { unsafe latest.pointee }

    /// Takes a value, unless the slot has a value of the same or a later version. Returns true if
    /// it took the value. The caller must hold the combination's lock.
    ///
    /// - Parameter value: Receives the replaced value, for the caller to destroy under no lock.
    ///   (P5)
    func takeLocked(_ value: inout Member, of version: UInt64) -> Bool {
        if let present = self.version, version <= present { return false }
        exchange(&value, version)
        return true
    }

    private func exchange(_ value: inout Member, _ version: UInt64) {
        if isEmpty { unsafe latest.initialize(to: value) } else { unsafe swap(&latest.pointee, &value) }
        self.version = version
    }

    // MARK: Commits

    /// Stages a change, until all changes of the commit are staged. Called under the member's
    /// mutation lock, which the commit holds until the combination has taken the changes.
    func stage(_ change: Change<Member>) {
        unsafe old.initialize(to: change.old!)
        unsafe new.initialize(to: change.new)
        stagedVersion = change.version
    }

    override func takeOldLocked(_ replaced: inout [Any]) {
        guard let stagedVersion else { return }
        var value = unsafe old.pointee
        exchange(&value, stagedVersion - 1)
        keep(value, &replaced)
    }

    override func takeStagedLocked(_ replaced: inout [Any]) {
        guard let staged = stagedVersion else { return }
        stagedVersion = nil
        var value = unsafe new.move()
        exchange(&value, staged)
        keep(value, &replaced)
        keep(unsafe old.move(), &replaced)
    }

    /// Adds a value to `replaced`, unless it is plain bits, which need no destruction.
    private func keep(_ value: Member, _ replaced: inout [Any]) { if !_isPOD(Member.self) { replaced.append(value) } }
}
