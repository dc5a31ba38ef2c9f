// SPDX-License-Identifier: Apache-2.0

/// Deliveries to observers of paths, which wait until every path that leads through a changed
/// property is relinked.
///
/// First all such paths are relinked, then their observers are called, then those of the property:
/// a callback that blocks, of any observer, never stands between a change and the paths that it
/// moves. (P7)
///
/// Serial deliveries of paths come last, as those of the property do. (P1)
///
/// A path that ended at the property, too, receives the change itself as one of the property's
/// observers. After that, on the same thread, it receives where it leads now: the versions come in
/// order. (P2)
@usableFromInline
internal final class DeferredDeliveries {
    // Handed from function to function on one thread.
    private var firstDelivery: (() -> Void)?
    /// Those after the first: most often there are none, and nothing is allocated for them.
    var deliveries: [() -> Void] = []
    private var lateDeliveries: [() -> Void] = []
    private var serialDeliveries: [() -> Void] = []

    /// What the paths have used while they were relinked.
    private var kept: [AnyObject] = []

    init() {}

    /// Takes over references, until all paths are relinked.
    func keep(_ objects: inout [AnyObject]) {
        kept += objects
        objects = []
    }

    /// Releases them: one may be the last, and its end is user code. Outside the walk over the
    /// paths, before the deliveries: a callback that blocks keeps no referent alive. (P5, P7, P11)
    func releaseKept() { if !kept.isEmpty { ThreadRecord.withUserCode { kept = [] } } }

    /// Keeps a delivery for later that empties a mailbox on this thread.
    func addSerial(_ delivery: @escaping () -> Void) { serialDeliveries.append(delivery) }

    /// Keeps a delivery for later.
    ///
    /// - Parameter isLate: It comes after the property's own observers were called.
    func add(isLate: Bool, _ delivery: @escaping () -> Void) {
        if isLate {
            lateDeliveries.append(delivery)
        } else if firstDelivery == nil {
            firstDelivery = delivery
        } else {
            deliveries.append(delivery)
        }
    }

    /// Makes the deliveries, but for the late ones.
    @usableFromInline
    func deliver() {
        guard let firstDelivery else { return }
        firstDelivery()
        for delivery in deliveries { delivery() }
    }

    /// Makes the late ones, then the serial ones.
    @usableFromInline
    func deliverLate() {
        for delivery in lateDeliveries { delivery() }
        for delivery in serialDeliveries { delivery() }
    }
}
