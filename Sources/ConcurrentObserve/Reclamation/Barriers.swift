// SPDX-License-Identifier: Apache-2.0

public import CURCU
import Synchronization

/// The asymmetric barrier between the walker, which runs often, and whoever waits for it, who runs rarely.
///
/// The walker stores `current` and then loads the mark, of the entry or of the observer; the canceller changes the mark and then loads every
/// `current`. At least one of the two must see the other's store. Where the kernel has membarrier the canceller pays for
/// both sides; where it has not, both execute a full fence. Both sides decide by liburcu's flag, which is set before `main`.
@usableFromInline
internal enum AsymmetricBarrier {
    /// Whether the kernel's membarrier is in use.
    @inlinable @inline(__always)
    static var usesMembarrier: Bool { curcu_has_membarrier() }

    /// The walker's side. Pairs with `heavy()`.
    ///
    /// - Returns: The address that it was given: through the call that is seldom made, so that it needs no register that survives calls.
    @inlinable @inline(__always)
    static func light(fenced: Bool, _ observer: UInt) -> UInt {
        curcu_compiler_barrier()
        return fenced ? fullFence(observer) : observer
    }

    @inlinable @inline(__always)
    static func light(fenced: Bool) { _ = light(fenced: fenced, 0) }

    /// Out of line: the notification path contains no fence of its own where membarrier is in use. (P15)
    @usableFromInline @inline(never)
    static func fullFence(_ observer: UInt) -> UInt {
        // Sequentially consistent: pairs with the fence in heavy(), which runs in whoever waits.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return observer
    }

    /// The waiter's side: a full barrier at some point of every thread's program order. Pairs with `light(fenced:)`.
    static func heavy() {
        if exploredStep("barrier") { return }
        guard usesMembarrier else {
            // Sequentially consistent: pairs with the fence in light(fenced:), which then runs in every walker.
            return atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        faultPoint("barrier.heavy")
        let error = curcu_membarrier()
        guard error == 0 else {
            fatalError(
                """
                ConcurrentObserve: membarrier worked at start-up and fails now (error \(error)). A seccomp filter that was \
                installed later forbids it: allow membarrier in the filter, or install the filter before the process starts.
                """
            )
        }
    }
}
