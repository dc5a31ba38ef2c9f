// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Which source a change is of: where that keeps what it shares with its observers. Compared, not
/// followed.
@usableFromInline
internal struct SourceIdentity: Equatable, Sendable {
    private let address: UInt

    fileprivate init(_ address: UInt) { self.address = address }

    /// Whether it is the source whose core this is.
    func isOf(_ core: RegistryCore) -> Bool { address == UInt(bitPattern: ObjectIdentifier(core)) }
}

extension ObserverList {
    /// Which source this is the list of. One that was never observed equals none that has announced
    /// a change.
    @usableFromInline
    var identity: SourceIdentity {
        // Relaxed: compared, not followed.
        SourceIdentity(coreAddress.load(ordering: .relaxed))
    }
}

extension Observer {
    /// Which source it observes.
    @usableFromInline
    final var sourceIdentity: SourceIdentity {
        withCore { core in SourceIdentity(UInt(bitPattern: ObjectIdentifier(core))) }
    }
}

/// A change that is being announced on a thread, and that a later one may have been made of: what
/// runs on the thread meanwhile can ask whether a change that it receives is this one.
///
/// A subclass says who has made the change. A path or a group numbers its changes itself, and says
/// by a `RelayedChange` which of them has come of this one.
@usableFromInline
internal class AnnouncedChange: DeliveryContext, @unchecked Sendable {
    // Unchecked: constants; the version of a relayed change is written by its thread alone.
    private let source: SourceIdentity
    fileprivate(set) var version: UInt64

    init(_ version: UInt64, of source: SourceIdentity) { (self.version, self.source) = (version, source) }

    /// The change without those that paths and groups have passed it on as.
    var original: AnnouncedChange { self }

    /// Whether the value is that of the original.
    var keepsValue: Bool { true }

    /// Whether a group has made the change: its value has other members' values beside the
    /// original's.
    var isCombined: Bool { false }

    /// Which versions of the properties on a path the change shows; nil if it is no path's, or no
    /// binding receives it.
    var shown: ShownVersion? { nil }

    /// Whether the change is one of a source.
    final func isOf(_ source: SourceIdentity) -> Bool { self.source == source }

    /// What the calling thread announces, if a change that it receives is just that: not one that a
    /// callback has made meanwhile.
    static func current(_ version: UInt64, of source: SourceIdentity) -> AnnouncedChange? {
        guard let announced = any, announced.version == version, announced.isOf(source) else { return nil }
        return announced
    }

    /// What the calling thread announces, whatever it receives.
    static var any: AnnouncedChange? { DeliveryContext.current as? AnnouncedChange }

    /// The change of a path or a group that has come of this one.
    ///
    /// - Parameters:
    ///   - version: Its number there; nil if it is not known yet.
    ///   - keepsValue: Whether it carries the same value.
    ///   - isCombined: Whether a group has made it.
    ///   - shown: What it shows, if it is a path's and a binding receives it.
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

/// A change that a path or a group delivers under a number of its own: one that it has made of an
/// announced one, on the same thread, or one of a path that a binding receives.
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

    /// A path's change, with what is known of it; nil if that is nothing.
    ///
    /// - Parameters:
    ///   - cause: What has brought it, if the calling thread announces that.
    ///   - keepsValue: Whether it carries the value of its cause.
    ///   - shown: What it shows, if a binding receives it.
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

    /// Says which number the change has. On the thread that delivers it, before it does.
    func setVersion(_ version: UInt64) {
        self.version = version
    }
}
