// SPDX-License-Identifier: Apache-2.0

/// Observers of one source that a removal has ended, and that feed other observations.
///
/// The removal is complete when the observations that they feed have ended, too. Another removal
/// that comes before finds the observers ended. It also ends the observations that they feed, and
/// so waits for no thread. (P8)
internal final class EndedFeeders: @unchecked Sendable {
    // Unchecked: `observers` is written before `share(in:)`; the core's lock guards `next`; only
    // this removal uses `others`.
    private var observers: [Observer] = []
    /// The observers that other removals have ended. The observations that these feed may not have
    /// ended yet.
    private var others: [Observer] = []
    /// The next removal in the core's list.
    private var next: EndedFeeders?

    init() {}

    /// Adds an observer. The caller must hold the core's lock.
    func add(_ observer: Observer) { observers.append(observer) }

    /// Adds this removal to the core's list, and takes over the observers of the removals in it.
    /// The caller must hold the core's lock.
    func share(in core: RegistryCore) {
        next = core.endings
        core.endings = self
        var other = next
        while let present = other {
            for observer in present.observers { others.append(observer) }
            other = present.next
        }
    }

    /// Ends the observations that other removals may not have ended yet. The caller must hold no
    /// lock.
    func endThoseOfOthers(in core: RegistryCore) {
        for observer in others { core.endDependents(of: observer) }
    }

    /// Removes this removal from the core's list, after the observations that the observers feed
    /// have ended. The caller must hold no lock.
    func leave(_ core: RegistryCore) {
        core.lock.withLock {
            if core.endings === self {
                core.endings = next
            } else {
                var other = core.endings
                while let present = other, present.next !== self { other = present.next }
                other?.next = next
            }
        }
    }
}
