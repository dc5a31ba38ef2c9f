// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A place in your code at which threads are delayed while a stress run is on, so that others pass
/// them there. Put one between two steps that you suspect of a race.
///
/// Any thread may call it, under a lock too. In each round one or two points are hot, which the
/// seed chooses among those that threads have come to. At a hot point a thread now and then spins,
/// sleeps, or gives its processor away. While no stress run is on, a call is one load.
///
/// - Parameter name: A literal. Places with one name are one point.
public func stressPoint(_ name: StaticString) {
    // Acquire: pairs with the release in `withPoints`.
    let address = UserPoints.perturbation.load(ordering: .acquiring)
    if address != 0 { UserPoints.reached(name, at: address) }
}

/// The points of user code.
enum UserPoints {
    /// The address of the run's perturbation; 1 while histories are recorded; or 0.
    static let perturbation = Atomic<UInt>(0)

    /// Makes the points those of a run while `body` runs.
    ///
    /// - Parameter perturbation: Nil while histories are recorded.
    static func withPoints<Result>(of perturbation: Perturbation?, _ body: () throws -> Result) rethrows -> Result {
        // A reference that is never released: a thread that the run knows nothing of may come to a
        // point at its end.
        let address = perturbation.map { UInt(bitPattern: unsafe Unmanaged.passRetained($0).toOpaque()) } ?? 1
        seen.clear()
        // Release, both: pairs with the acquire in `stressPoint(_:)`.
        self.perturbation.store(address, ordering: .releasing)
        defer { self.perturbation.store(0, ordering: .releasing) }
        return try body()
    }

    @inline(never)
    static func reached(_ name: StaticString, at address: UInt) {
        guard address != 1 else { return HistoryRecorder.interrupt() }
        // Safe: the object is never released.
        let perturbation = unsafe Unmanaged<Perturbation>.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
            .takeUnretainedValue()
        reached(name, perturbation)
    }

    static func reached(_ name: StaticString, _ perturbation: Perturbation) {
        if seen.insert(name) { perturbation.add(name) }
        perturbation.reached(name)
    }

    private static let seen = SeenNames()
}

/// The addresses of names that threads have come to. A look adds no ordering between threads.
@safe private final class SeenNames: @unchecked Sendable {
    // Unchecked: the memory consists of atomics, and stays.
    private static let capacity = 1_024
    private let slots = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: capacity)

    init() { for index in 0..<Self.capacity { unsafe (slots + index).initialize(to: Atomic(0)) } }

    func clear() { for index in 0..<Self.capacity { unsafe slots[index].store(0, ordering: .relaxed) } }

    /// Returns whether the name was not there. A full table takes no further names: their points
    /// stay cold.
    func insert(_ name: StaticString) -> Bool {
        let address = UInt(bitPattern: unsafe name.utf8Start)
        let start = Int(truncatingIfNeeded: address &* 0x9E37_79B9_7F4A_7C15 >> 40)
        for step in 0..<Self.capacity {
            let slot = (start &+ step) & (Self.capacity - 1)
            // Relaxed, both: an address is all that is read. Safe: the slot is within the table.
            let present = unsafe slots[slot].load(ordering: .relaxed)
            if present == address { return false }
            if present == 0 {
                let (isMine, other) = unsafe slots[slot]
                    .compareExchange(expected: 0, desired: address, ordering: .relaxed)
                if isMine || other == address { return isMine }
            }
        }
        return false
    }
}
