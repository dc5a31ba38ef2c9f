// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Identifies the source of a change, by the address of its core (`RegistryCore`). The address is
/// compared, not followed.
@usableFromInline
internal struct SourceIdentity: Equatable, Sendable {
    private let address: UInt

    fileprivate init(_ address: UInt) { self.address = address }

    /// Whether `core` is the core of this source.
    func isOf(_ core: RegistryCore) -> Bool { address == UInt(bitPattern: ObjectIdentifier(core)) }
}

extension ObserverList {
    /// The identity of the source that has this list. If the source was never observed, no
    /// announced change has this identity.
    @usableFromInline
    var identity: SourceIdentity {
        // Relaxed: compared, not followed.
        SourceIdentity(coreAddress.load(ordering: .relaxed))
    }
}

extension Observer {
    /// The identity of the source that the observer observes.
    @usableFromInline
    final var sourceIdentity: SourceIdentity {
        withCore { core in SourceIdentity(UInt(bitPattern: ObjectIdentifier(core))) }
    }
}

/// A change that a thread delivers: the source, the version, and the step of a binding that made or
/// caused the change.
///
/// The scope is passed as an argument to the links of paths and derived values. It cannot be passed
/// to the closures of observers: they belong to the program, and take only a `Change`. The thread's
/// record therefore has the innermost scope, in `ThreadRecord.delivery`, and the closures of the
/// library (of bindings, groups and paths) find it there. If a callback changes another property,
/// the scope in the record does not match that change.
///
/// A thread has a scope in three cases:
/// 1. It delivers a change that a binding made, or a change of a path, a group or a derived value
///    that such a change caused.
/// 2. It delivers a path's change to a binding. Then `shown` has the versions.
/// 3. Its commit calls observers under the locks of the members. Then `commit` refers to the
///    commit.
///
/// The scope is on the thread's stack.
@safe @usableFromInline
internal struct DeliveryScope {
    let source: SourceIdentity
    let version: UInt64
    /// Whether the change carries the value that the binding of `step` made.
    private(set) var keepsValue = true
    /// Whether a group or a derived value made the change: its value depends on more than the
    /// value that the binding has made.
    private(set) var isCombined = false
    /// The versions of the properties on a path that the change shows, if it is the change of a
    /// path and a binding receives it; otherwise nil.
    let shown: ShownVersion?
    /// The step of a binding that made or caused this change; nil if no binding did. It is a
    /// `Propagation`, a type in the folder Binding. The step is on the thread's stack, and outlives
    /// this scope.
    let step: UnsafeRawPointer?
    /// The `CommitReach` (a type in the folder Transaction) of the commit that calls observers
    /// under its locks; nil in all other deliveries. The commit keeps it until that delivery has
    /// ended.
    let commit: UnsafeRawPointer?

    /// Makes the scope of the change of `source` to `version`.
    ///
    /// - Parameters:
    ///   - shown: The versions that the change shows, if it is the change of a path and a binding
    ///     receives it; otherwise nil.
    ///   - step: The step of the binding that made or caused the change; nil if no binding did.
    @safe
    init(
        _ version: UInt64,
        of source: SourceIdentity,
        showing shown: ShownVersion? = nil,
        madeBy step: UnsafeRawPointer? = nil
    ) {
        (self.version, self.source, self.shown) = (version, source, shown)
        unsafe (self.step, commit) = (step, nil)
    }

    /// Makes the scope of a commit that calls observers under its locks.
    init(of commit: UnsafeRawPointer) {
        (version, source, shown) = (.max, SourceIdentity(0), nil)
        unsafe (step, self.commit) = (nil, commit)
    }

    /// Whether this is the change of `source` to `version`.
    func isChange(_ version: UInt64, of source: SourceIdentity) -> Bool {
        return self.version == version && self.source == source
    }

    /// Makes the scope of a new change, which this change has caused: the change of a path, a group
    /// or a derived value.
    ///
    /// - Parameters:
    /// - version: The version of the new change.
    /// - source: The source of the new change: the path, the group or the derived value.
    /// - keepsValue: Whether the new change carries the value of this change.
    /// - isCombined: Whether a group or a derived value made the new change.
    /// - shown: The versions that the new change shows, if it is the change of a path and a binding
    ///   receives it; otherwise nil.
    func relayed(
        as version: UInt64,
        of source: SourceIdentity,
        keepsValue: Bool,
        isCombined: Bool = false,
        showing shown: ShownVersion? = nil
    ) -> DeliveryScope {
        // Safe: the scope that is made ends before this one.
        var scope = unsafe DeliveryScope(version, of: source, showing: shown, madeBy: step)
        scope.keepsValue = keepsValue && self.keepsValue
        scope.isCombined = isCombined || self.isCombined
        return scope
    }

    /// Returns the scope of the change of a path to `version`; nil if the change has neither a
    /// known cause nor versions to show.
    ///
    /// - Parameters:
    ///   - cause: The scope of the change that caused the path's change; nil if the calling thread
    ///     does not deliver it.
    ///   - keepsValue: Whether the path's change carries the value of its cause.
    ///   - shown: The versions that the path's change shows, if a binding receives it.
    static func ofPath(
        _ version: UInt64,
        of source: SourceIdentity,
        becauseOf cause: DeliveryScope?,
        keepsValue: Bool,
        showing shown: ShownVersion?
    ) -> DeliveryScope? {
        if let cause { return cause.relayed(as: version, of: source, keepsValue: keepsValue, showing: shown) }
        guard let shown else { return nil }
        var scope = DeliveryScope(version, of: source, showing: shown)
        scope.keepsValue = keepsValue
        return scope
    }
}

// MARK: - The thread's record

extension DeliveryScope {
    /// The innermost scope of the calling thread, if there is one.
    @inline(__always)
    static var present: DeliveryScope? {
        // Safe: records are never freed. The scope is on this thread's stack until `perform` ends.
        guard let scope = unsafe ThreadRecord.current.pointee.delivery else { return nil }
        return unsafe scope.assumingMemoryBound(to: DeliveryScope.self).pointee
    }

    /// Returns the innermost scope of the calling thread if it is the scope of the change of
    /// `source` to `version`; otherwise nil. If a callback makes a change of its own, that change
    /// has no scope, and the innermost scope belongs to another change.
    static func current(_ version: UInt64, of source: SourceIdentity) -> DeliveryScope? {
        guard let present, present.isChange(version, of: source) else { return nil }
        return present
    }

    /// Runs `delivery`, which calls observers, with this scope as the calling thread's innermost
    /// scope.
    @inline(never)
    func perform(_ delivery: () -> Void) {
        // Safe: records are never freed. This record forgets the scope before the scope is gone.
        let record = unsafe ThreadRecord.current
        let outer = unsafe record.pointee.delivery
        unsafe withUnsafePointer(to: self) { scope in
            unsafe record.pointee.delivery = UnsafeRawPointer(scope)
            delivery()
            unsafe record.pointee.delivery = outer
        }
    }
}

/// The version of a property that a change of a path shows. It has a link to the versions of the
/// properties before that property on the path.
///
/// A path numbers its changes itself, and any thread may deliver them. Therefore neither the number
/// nor the thread shows from which versions of its properties the path made a change. A list of
/// `ShownVersion` objects shows this. If a binding of the path leads back to one of the properties,
/// it finds in the list which version it would replace. If the property has a later version by
/// then, the binding does not change the property. (P3)
internal final class ShownVersion: Sendable {
    /// The property's core. It is retained, so that a later property at the same address is not
    /// taken for this one. Retaining the core does not prolong the property's life. (P11)
    private let core: RegistryCore
    private let version: UInt64
    /// Whether the path's change carries the value of this version. It can be true only for the
    /// last property of the path.
    private let isValue: Bool
    private let before: ShownVersion?

    /// Records that a change shows `version` of the property that has `core`.
    ///
    /// - Parameters:
    ///   - isValue: Whether the path's change carries the value of this version.
    ///   - before: The version of the property before this property on the path; nil if this is the
    ///     first.
    init(_ version: UInt64, of core: RegistryCore, isValue: Bool, after before: ShownVersion?) {
        (self.version, self.core, self.isValue, self.before) = (version, core, isValue, before)
    }

    /// Returns which version of `property` the change shows, and whether the change carries the
    /// value of that version. Returns nil if the path does not lead through the property or to it.
    ///
    /// - Complexity: O(*n*) in the steps of the path.
    func version(of property: SourceIdentity) -> (number: UInt64, isValue: Bool)? {
        var next: ShownVersion? = self
        while let shown = next {
            if property.isOf(shown.core) { return (shown.version, shown.isValue) }
            next = shown.before
        }
        return nil
    }
}
