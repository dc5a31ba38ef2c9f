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
/// A path may pass the changed property and also end there. It receives the change itself as one of
/// the property's observers. After that, on the same thread, it receives where it leads now: so the
/// versions come in order. (P2)
@usableFromInline
internal final class DeferredDeliveries {
    // Handed from function to function on one thread.
    private var firstDelivery: (() -> Void)?
    /// The deliveries after the first. Most often there are none, and nothing is allocated.
    var deliveries: [() -> Void] = []
    private var lateDeliveries: [() -> Void] = []
    private var serialDeliveries: [() -> Void] = []

    /// The objects that the paths have used while they were relinked.
    private var kept: [AnyObject] = []

    init() {}

    /// Takes over references, until all paths are relinked.
    func keep(_ objects: inout [AnyObject]) {
        kept += objects
        objects = []
    }

    /// Releases the kept references. One may be the last, and its release runs user code. Call it
    /// after the walk over the paths, and before the deliveries: a callback that blocks then keeps
    /// no referent alive. (P5, P7, P11)
    func releaseKept() { if !kept.isEmpty { ThreadRecord.withUserCode { kept = [] } } }

    /// Adds a delivery that empties a mailbox on this thread.
    func addSerial(_ delivery: @escaping () -> Void) { serialDeliveries.append(delivery) }

    /// Adds a delivery.
    ///
    /// - Parameter isLate: Whether it comes after the property's own observers were called.
    func add(isLate: Bool, _ delivery: @escaping () -> Void) {
        if isLate {
            lateDeliveries.append(delivery)
        } else if firstDelivery == nil {
            firstDelivery = delivery
        } else {
            deliveries.append(delivery)
        }
    }

    /// Makes the deliveries, except the late and the serial ones.
    @usableFromInline
    func deliver() {
        guard let firstDelivery else { return }
        firstDelivery()
        for delivery in deliveries { delivery() }
    }

    /// Makes the late deliveries, then the serial ones.
    @usableFromInline
    func deliverLate() {
        for delivery in lateDeliveries { delivery() }
        for delivery in serialDeliveries { delivery() }
    }
}
