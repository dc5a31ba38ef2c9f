// SPDX-License-Identifier: Apache-2.0

/// What a combination keeps of one member, whatever its type.
internal class AnyMemberSlot: AttachmentClaim, @unchecked Sendable {
    // Unchecked: guarded by the combination's lock, in the subclass, too.
    /// Of the latest value; nil while none has come.
    fileprivate final var version: UInt64?
    /// Of the change that is staged, if one is. Guarded by the lock of the member's changes.
    fileprivate final var stagedVersion: UInt64?

    override init() {}

    /// Whether no value has come. Under the lock.
    final var isEmpty: Bool { version == nil }

    /// Whether changes that come before the staged one have not been taken. Under the lock.
    final var isBehind: Bool {
        guard let version, let stagedVersion else { return false }
        return version + 1 < stagedVersion
    }

    /// Takes the value that the staged change has replaced. Under the lock.
    ///
    /// - Parameter replaced: Receives what it replaces here, to be destroyed under no lock. (P5)
    func takeOld(_ replaced: inout [Any]) {}

    /// Takes the staged value. As ``takeOld(_:)``.
    func takeStaged(_ replaced: inout [Any]) {}
}

/// The latest value of one member.
///
/// The values lie in memory of the slot's, and are moved by their addresses. This code is compiled once, for members of any type: to touch
/// an optional or a tuple of such values it would look up that type in the runtime's tables each time.
@safe
internal final class MemberSlot<Member: Sendable>: AnyMemberSlot, @unchecked Sendable {
    // Unchecked: as the superclass; the two staged values are guarded by the lock of the member's changes.
    private let latest = UnsafeMutablePointer<Member>.allocate(capacity: 3)
    /// What a commit is replacing, and what it publishes.
    private var old: UnsafeMutablePointer<Member> { unsafe latest + 1 }
    private var new: UnsafeMutablePointer<Member> { unsafe latest + 2 }

    deinit {
        // Safe, all: no thread has a reference any more; the versions say which values there are.
        if version != nil { unsafe latest.deinitialize(count: 1) }
        if stagedVersion != nil { unsafe old.deinitialize(count: 2) }
        unsafe latest.deallocate()
    }

    // Safe, all that follow: the slot has the memory, the version says whether there is a value, and the lock keeps other threads away.

    /// Under the lock, if it is not empty.
    var value: Member { unsafe latest.pointee }

    /// Takes a value, unless that of a later version was taken. Under the lock.
    ///
    /// - Parameter value: Receives what was replaced, for the caller to destroy under no lock. (P5)
    func take(_ value: inout Member, of version: UInt64) -> Bool {
        guard isLater(version) else { return false }
        exchange(&value, version)
        return true
    }

    private func exchange(_ value: inout Member, _ version: UInt64) {
        if isEmpty { unsafe latest.initialize(to: value) } else { unsafe swap(&latest.pointee, &value) }
        self.version = version
    }

    private func isLater(_ version: UInt64) -> Bool {
        guard let present = self.version else { return true }
        return version > present
    }

    // MARK: Commits

    /// Keeps a change until all of the commit's are there. Under the lock of the member's changes, which the commit holds until they
    /// are taken.
    func stage(_ change: Change<Member>) {
        unsafe old.initialize(to: change.old!)
        unsafe new.initialize(to: change.new)
        stagedVersion = change.version
    }

    override func takeOld(_ replaced: inout [Any]) {
        guard let stagedVersion else { return }
        var value = unsafe old.pointee
        exchange(&value, stagedVersion - 1)
        keep(value, &replaced)
    }

    override func takeStaged(_ replaced: inout [Any]) {
        guard let staged = stagedVersion else { return }
        stagedVersion = nil
        var value = unsafe new.move()
        exchange(&value, staged)
        keep(value, &replaced)
        keep(unsafe old.move(), &replaced)
    }

    /// What is bits alone needs no end.
    private func keep(_ value: Member, _ replaced: inout [Any]) { if !_isPOD(Member.self) { replaced.append(value) } }
}
