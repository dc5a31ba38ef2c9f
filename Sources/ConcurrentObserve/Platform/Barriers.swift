// SPDX-License-Identifier: Apache-2.0

public import CPlatform
import Synchronization

/// Keeps the compiler, not the processor, from moving memory accesses across it.
@inlinable @inline(__always)
package func compilerBarrier() { cplatform_compiler_barrier() }

/// The asymmetric barrier between a frequent side, which calls `light`, and a rare side, which
/// calls `heavy()`.
///
/// Each side stores one word and then loads the word that the other side stores. At least one of
/// the two must see the other's store. For example, a walker (a thread that calls observers) stores
/// `current`, and then loads an observer's mark. A canceller changes the mark, and then loads every
/// `current`. Pins, `BoxPool`, `Magazine` and `ReferenceRing` use the barrier in the same way.
///
/// If the kernel has membarrier, the call of the rare side executes the barrier for both sides.
/// Otherwise each side executes a full fence. A flag, which is set before `main`, says which of the
/// two ways both sides use.
@usableFromInline
package enum AsymmetricBarrier {
    /// Whether the frequent side must execute a fence, because `heavy()` does not reach other
    /// threads.
    @inlinable @inline(__always)
    package static var needsFences: Bool { !UserspaceRCU.hasMembarrier }

    /// The frequent side: orders the caller's earlier stores before its later loads. Pairs with
    /// `heavy()`.
    ///
    /// - Returns: `observer`. If a fence is needed, `fullFence(_:)` takes the value and returns it.
    ///   The caller therefore need not keep the value in a register during that call.
    @inlinable @inline(__always)
    package static func light(fenced: Bool, _ observer: UInt) -> UInt {
        compilerBarrier()
        return fenced ? fullFence(observer) : observer
    }

    @inlinable @inline(__always)
    package static func light(fenced: Bool) { _ = light(fenced: fenced, 0) }

    /// Executes a full fence, and returns `observer`. It is out of line, so that the notification
    /// path contains no fence where it needs none. (P15)
    @usableFromInline @inline(never)
    package static func fullFence(_ observer: UInt) -> UInt {
        // Sequentially consistent: pairs with the fence in heavy(), which the rare side executes.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return observer
    }

    /// The rare side: executes a full barrier at some point in the program order of every thread.
    /// If the kernel has no membarrier, it executes a fence only on the calling thread. Pairs with
    /// `light(fenced:)`.
    package static func heavy() {
        if needsFences {
            // Sequentially consistent: pairs with the fence in light(fenced:), which the frequent
            // side then executes.
            return atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        let error = membarrier()
        if error != 0 { repeatMembarrier(after: error) }
    }

    /// Repeats a failed call of membarrier, because a later call can succeed. The kernel may have
    /// had no memory for a moment. Or the process is no longer registered, for example because it
    /// was restored from a checkpoint: then this function registers it.
    ///
    /// Traps if no attempt succeeds. Without the barrier the library would free memory that other
    /// threads still use.
    @inline(never)
    private static func repeatMembarrier(after first: Int32) {
        var error = first
        var wait = Backoff()
        for _ in 0..<mostAttempts {
            // If the process cannot be registered, no further attempt can succeed.
            if cplatform_is_unregistered(error), registerForMembarrier() != 0 { break }
            guard cplatform_may_pass(error) else { break }
            wait.pause()
            error = membarrier()
            if error == 0 { return }
        }
        trapWithoutMembarrier(error)
    }

    static func trapWithoutMembarrier(_ error: Int32) -> Never {
        fatalError(
            """
            ConcurrentObserve: membarrier worked at start-up and fails now (error \(error)). A seccomp filter that was \
            installed later forbids it: allow membarrier in the filter, or install the filter before the process starts.
            """
        )
    }

    /// The number of attempts. Together they take half a second or more: see `Backoff`.
    private static var mostAttempts: Int { 256 }

    private static func membarrier() -> Int32 {
        return cplatform_membarrier()
    }

    private static func registerForMembarrier() -> Int32 {
        return cplatform_register_membarrier()
    }
}
