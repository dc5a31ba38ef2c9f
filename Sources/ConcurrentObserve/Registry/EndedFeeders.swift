// SPDX-License-Identifier: Apache-2.0

/// Observers of one source that a removal has ended, and that feed other observations.
///
/// The removal is complete when what they feed has ended, too. Another removal that comes before that finds the observers ended: it ends
/// what they feed as well, and so waits for no thread. (P8)
internal final class EndedFeeders: @unchecked Sendable {
    // Unchecked: `observers` is written before `share(in:)`, and `next` is guarded by the core's lock; `others` is the removal's own.
    private var observers: [Observer] = []
    /// Those that other removals have ended, and what these feed perhaps not yet.
    private var others: [Observer] = []
    /// In the core's list.
    private var next: EndedFeeders?

    init() {}

    /// Under the core's lock.
    func add(_ observer: Observer) { observers.append(observer) }

    /// Joins the core's list, and takes on what is in it. Under the core's lock.
    func share(in core: RegistryCore) {
        next = core.endings
        core.endings = self
        var other = next
        while let present = other {
            for observer in present.observers { others.append(observer) }
            other = present.next
        }
    }

    /// Ends what other removals may not have ended yet. Under no lock.
    func endThoseOfOthers(in core: RegistryCore) {
        for observer in others { core.endDependents(of: observer) }
    }

    /// Leaves the core's list: what the observers feed has ended. Under no lock.
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
