// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Watches one closure from its creation to its destruction, in memory that outlives every use of
/// the closure, correct or not.
///
/// A callback looks at its probe when it begins and when it ends. If the closure is destroyed in
/// between, this is a violation that is counted, not a crash. Probes are never freed while the
/// process runs. They are recycled between rounds.
struct Probe: ~Copyable {
    let serial = Atomic<UInt64>(0)
    /// The number of times that the closure was destroyed.
    let destroyed = Atomic<Int>(0)
    /// Set when no thread may call the closure any more, because `cancelAndWait` has returned.
    let isDead = Atomic<Bool>(false)
    /// Set before a thread begins to end the observation.
    let isEnding = Atomic<Bool>(false)
    /// The number of callbacks that are running. It is a hint for choosing a moment, and nothing is
    /// checked with it.
    let running = Atomic<Int>(0)
}

/// A probe's address.
@safe struct ProbeReference: @unchecked Sendable, Equatable {
    // Unchecked: a probe consists of atomics and is never freed.
    private let pointer: UnsafeMutablePointer<Probe>

    fileprivate init(_ pointer: UnsafeMutablePointer<Probe>) { unsafe self.pointer = unsafe pointer }

    static func == (left: ProbeReference, right: ProbeReference) -> Bool { left.address == right.address }

    /// The probe's address as a number.
    var address: UInt { UInt(bitPattern: unsafe pointer) }

    init?(address: UInt) {
        // Safe: the number comes from `address`, and probes are never freed.
        guard let pointer = unsafe UnsafeMutablePointer<Probe>(bitPattern: address) else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    /// Makes a probe.
    static func make(serial: UInt64) -> ProbeReference {
        // Safe: never freed while a callback might look at it; see ProbePool.
        let pointer = unsafe ProbePool.shared.take()
        let probe = unsafe ProbeReference(pointer)
        probe.reset(serial: serial)
        return probe
    }

    private func reset(serial: UInt64) {
        unsafe pointer.initialize(to: Probe())
        unsafe pointer.pointee.serial.store(serial, ordering: .relaxed)
    }

    var serial: UInt64 { unsafe pointer.pointee.serial.load(ordering: .relaxed) }
    var destroyed: Int { unsafe pointer.pointee.destroyed.load(ordering: .acquiring) }
    var isDead: Bool { unsafe pointer.pointee.isDead.load(ordering: .relaxed) }
    var isEnding: Bool { unsafe pointer.pointee.isEnding.load(ordering: .relaxed) }
    var isRunning: Bool { unsafe pointer.pointee.running.load(ordering: .relaxed) != 0 }

    func markDead() { unsafe pointer.pointee.isDead.store(true, ordering: .relaxed) }
    func markEnding() { unsafe pointer.pointee.isEnding.store(true, ordering: .relaxed) }
    func markRunning(_ running: Bool) { unsafe pointer.pointee.running.store(running ? 1 : 0, ordering: .relaxed) }

    fileprivate func markDestroyed() {
        unsafe pointer.pointee.destroyed.add(1, ordering: .releasing)
    }
}

/// An object that the closure under test captures. It is destroyed with the closure.
final class Capture: Sendable {
    let probe: ProbeReference
    private let atEnd: (@Sendable () -> Void)?

    init(_ probe: ProbeReference, atEnd: (@Sendable () -> Void)? = nil) {
        self.probe = probe
        self.atEnd = atEnd
    }

    deinit {
        checkUserCode("deinit")
        probe.markDestroyed()
        atEnd?()
    }
}

/// An object that runs a closure when it is destroyed.
final class LastAct: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    deinit {
        checkUserCode("deinit")
        body()
    }
}

extension ObserverRegistry<UInt64> {
    /// Observes with a closure that runs `body` when it is destroyed. Only the closure retains the
    /// object that does this, so the calling thread never releases the last reference.
    func observe(atEnd body: @escaping @Sendable () -> Void) -> ObservationToken {
        observe { [act = LastAct(body)] _ in withExtendedLifetime(act) {} }
    }
}

/// Memory for probes, in blocks that are reused, the oldest first. A probe stays readable while
/// millions of others are made.
@safe final class ProbePool: @unchecked Sendable {
    // Unchecked: guarded by `lock`.
    static let shared = ProbePool()
    private static let size = 1 << 21

    private let probes = UnsafeMutablePointer<Probe>.allocate(capacity: size)
    private let next = Atomic<Int>(0)

    /// Writes to all of the memory at once, so that it does not become resident bit by bit in a
    /// long run.
    func touch() {
        // Safe: probes consist of numbers, and no thread under test runs yet.
        unsafe UnsafeMutableRawPointer(probes).initializeMemory(
            as: UInt8.self,
            repeating: 0,
            count: Self.size * MemoryLayout<Probe>.stride
        )
    }

    fileprivate func take() -> UnsafeMutablePointer<Probe> {
        unsafe probes + next.add(1, ordering: .relaxed).oldValue % Self.size
    }
}

/// Checks, where user code runs, that the library holds no lock and is in no read section. (P5)
@inline(__always)
func checkUserCode(_ place: StaticString) {
    #if INSTRUMENTED
    if Instrumentation.forbiddenDepth != 0 {
        unsafe Violations.current?.report(
            "P5.no-lock-around-user-code",
            "a \(place) runs under a lock or in a read section"
        )
    }
    #endif
}
