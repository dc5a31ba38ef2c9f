// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Identifies the source of a change, by the address of its core. The address is compared, not
/// followed.
@usableFromInline
internal struct SourceIdentity: Equatable, Sendable {
    private let address: UInt

    fileprivate init(_ address: UInt) { self.address = address }

    /// Whether `core` is this source's.
    func isOf(_ core: RegistryCore) -> Bool { address == UInt(bitPattern: ObjectIdentifier(core)) }
}

extension ObserverList {
    /// Identity of the owning source. A source never observed matches no announced change.
    @usableFromInline
    var identity: SourceIdentity {
        // Relaxed: compared, not followed.
        SourceIdentity(coreAddress.load(ordering: .relaxed))
    }
}

extension Observer {
    /// The identity of the source that it observes.
    @usableFromInline
    final var sourceIdentity: SourceIdentity {
        withCore { core in SourceIdentity(UInt(bitPattern: ObjectIdentifier(core))) }
    }
}

/// A change that a thread is announcing. Code that runs on the thread until the announcement ends
/// can ask whether a change that it receives is this one, and so find the origin of a change that
/// it makes.
///
/// A subclass says what made the change. A path or a group numbers its changes itself: a
/// `RelayedChange` leads from such a change to the announced one.
@usableFromInline
internal class AnnouncedChange: DeliveryContext, @unchecked Sendable {
    // Unchecked: constants, but for the version of a relayed change, which only its thread writes.
    private let source: SourceIdentity
    fileprivate(set) var version: UInt64

    init(_ version: UInt64, of source: SourceIdentity) { (self.version, self.source) = (version, source) }

    /// The change that paths and groups have relayed as this one; this change itself if there is
    /// none.
    var original: AnnouncedChange { self }

    /// Whether the change carries the value of its original.
    var keepsValue: Bool { true }

    /// Whether a group or a derived value made the change: its value depends on more than the
    /// original's value.
    var isCombined: Bool { false }

    /// The versions of the properties on a path that the change shows. Nil if the change is not a
    /// path's, or if no binding receives it.
    var shown: ShownVersion? { nil }

    /// Whether the change is one of `source`.
    final func isOf(_ source: SourceIdentity) -> Bool { self.source == source }

    /// The change that the calling thread announces, if it is the change of `source` to `version`.
    /// A change that a callback makes in between does not match.
    static func current(_ version: UInt64, of source: SourceIdentity) -> AnnouncedChange? {
        guard let announced = any, announced.version == version, announced.isOf(source) else { return nil }
        return announced
    }

    /// The change that the calling thread announces, if there is one.
    static var any: AnnouncedChange? { DeliveryContext.current as? AnnouncedChange }

    /// Makes the change of a path, a group or a derived value that this change has caused.
    ///
    /// - Parameters:
    ///   - version: Its version there; nil if that is not known yet.
    ///   - keepsValue: Whether it carries the same value.
    ///   - isCombined: Whether a group or a derived value made it.
    ///   - shown: The versions that it shows, if it is a path's and a binding receives it.
    final func relayed(
        as version: UInt64?,
        of source: SourceIdentity,
        keepsValue: Bool,
        isCombined: Bool = false,
        showing shown: ShownVersion? = nil
    ) -> RelayedChange {
        return RelayedChange(of: self, version ?? .max, of: source, keepsValue, isCombined, shown)
    }
}

/// A change that a path, a group or a derived value delivers under its own version. An announced
/// change has caused it on the same thread, or it is a path's and a binding receives it.
@usableFromInline
internal final class RelayedChange: AnnouncedChange, @unchecked Sendable {
    // Unchecked: as in the superclass.
    private let cause: AnnouncedChange?
    private let hasSameValue: Bool
    private let hasOtherValues: Bool
    private let shownVersion: ShownVersion?

    init(
        of cause: AnnouncedChange?,
        _ version: UInt64,
        of source: SourceIdentity,
        _ keepsValue: Bool,
        _ isCombined: Bool,
        _ shown: ShownVersion?
    ) {
        self.cause = cause?.original
        hasSameValue = keepsValue && cause?.keepsValue ?? true
        hasOtherValues = isCombined || cause?.isCombined ?? false
        shownVersion = shown
        super.init(version, of: source)
    }

    /// Describes a path's change. Nil if it has neither a known cause nor versions to show.
    ///
    /// - Parameters:
    ///   - cause: The change that caused it, if the calling thread announces that.
    ///   - keepsValue: Whether it carries the value of its cause.
    ///   - shown: The versions that it shows, if a binding receives it.
    static func ofPath(
        _ version: UInt64,
        of source: SourceIdentity,
        becauseOf cause: AnnouncedChange?,
        keepsValue: Bool,
        showing shown: ShownVersion?
    ) -> RelayedChange? {
        if let cause { return cause.relayed(as: version, of: source, keepsValue: keepsValue, showing: shown) }
        guard let shown else { return nil }
        return RelayedChange(of: nil, version, of: source, keepsValue, false, shown)
    }

    override var original: AnnouncedChange { cause ?? self }
    override var keepsValue: Bool { hasSameValue }
    override var shown: ShownVersion? { shownVersion }

    override var isCombined: Bool {
        return hasOtherValues
    }

    /// Sets the version. Called on the thread that delivers the change, before it does.
    func setVersion(_ version: UInt64) {
        self.version = version
    }
}

/// The version of a property that a change of a path shows, linked to those of the properties
/// before it on the path.
///
/// A path numbers its changes itself, and any thread may deliver them. So neither the number nor
/// the thread says what a change was made from. These versions do. A binding of the path that leads
/// back to one of the properties learns from them which version it would replace. If the property
/// has a later one by then, the binding does not change it. (P3)
internal final class ShownVersion: Sendable {
    /// The property's core. It is retained, so that a later property at the same address is not
    /// taken for this one. That does not prolong the property's life. (P11)
    private let core: RegistryCore
    private let version: UInt64
    /// Whether the change carries the value of this version. True only for the last property of a
    /// path.
    private let isValue: Bool
    private let before: ShownVersion?

    /// - Parameter before: The version of the property before this one on the path.
    init(_ version: UInt64, of core: RegistryCore, isValue: Bool, after before: ShownVersion?) {
        (self.version, self.core, self.isValue, self.before) = (version, core, isValue, before)
    }

    /// Returns which version of a property is shown, and whether the change carries its value. Nil
    /// if the path does not lead through the property or to it.
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
