// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A place in your code at which threads are delayed while a stress run is on. Other threads can
/// then overtake them there. Put one between two steps that you suspect of a race.
///
/// Any thread may call it, also under a lock. In each round one or two points are hot. The seed
/// chooses them among the points that threads have reached. At a hot point a thread sometimes
/// spins, sleeps, or gives the processor to others. While no stress run is on, a call is one load.
///
/// - Parameter name: A literal. Places with the same name are one point.
public func stressPoint(_ name: StaticString) {
    // Acquire: pairs with the release in `withPoints`.
    let address = UserPoints.perturbation.load(ordering: .acquiring)
    if address != 0 { UserPoints.reached(name, at: address) }
}

/// The points in the code of the user.
enum UserPoints {
    /// The address of the run's perturbation. It is 1 while histories are recorded, and 0
    /// otherwise.
    static let perturbation = Atomic<UInt>(0)

    /// Makes user code's points part of a run while `body` runs.
    ///
    /// - Parameter perturbation: The run's perturbation; nil while histories are recorded.
    static func withPoints<Result>(of perturbation: Perturbation?, _ body: () throws -> Result) rethrows -> Result {
        // This reference is never released: a thread that the run does not know may reach a point
        // at the end of the run.
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

/// The addresses of the names of points that threads have reached. Looking up a name adds no
/// ordering between threads.
@safe private final class SeenNames: @unchecked Sendable {
    // Unchecked: the memory consists of atomics, and is never freed.
    private static let capacity = 1_024
    private let slots = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: capacity)

    init() { for index in 0..<Self.capacity { unsafe (slots + index).initialize(to: Atomic(0)) } }

    func clear() { for index in 0..<Self.capacity { unsafe slots[index].store(0, ordering: .relaxed) } }

    /// Adds a name. Returns whether it is new. Returns false if the table is full: then the points
    /// of further names are never hot.
    func insert(_ name: StaticString) -> Bool {
        let address = UInt(bitPattern: unsafe name.utf8Start)
        let start = Int(truncatingIfNeeded: address &* 0x9E37_79B9_7F4A_7C15 >> 40)
        for step in 0..<Self.capacity {
            let slot = (start &+ step) & (Self.capacity - 1)
            // Relaxed, both: only the address is read. Safe: the slot is within the table.
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
