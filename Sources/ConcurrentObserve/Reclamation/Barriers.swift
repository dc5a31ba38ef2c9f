// SPDX-License-Identifier: Apache-2.0

public import CURCU
import Glibc
import Synchronization

/// The asymmetric barrier between the walker, which runs often, and a thread that waits for it,
/// which runs rarely.
///
/// The walker stores `current` and then loads the mark, of the entry or of the observer; the
/// canceller changes the mark and then loads every `current`. At least one of the two must see the
/// other's store. Where the kernel has membarrier, the canceller pays for both sides; where it has
/// not, both execute a full fence. Both sides decide by one flag, which is set before `main`.
@usableFromInline
internal enum AsymmetricBarrier {
    /// Whether the walker's side must execute a fence: `heavy()` does not reach other threads.
    @inlinable @inline(__always)
    static var needsFences: Bool { !curcu_has_membarrier() }

    /// The walker's side. Pairs with `heavy()`.
    ///
    /// - Returns: The address that it was given: through the call that is seldom made, so that it
    ///   needs no register that survives calls.
    @inlinable @inline(__always)
    static func light(fenced: Bool, _ observer: UInt) -> UInt {
        curcu_compiler_barrier()
        return fenced ? fullFence(observer) : observer
    }

    @inlinable @inline(__always)
    static func light(fenced: Bool) { _ = light(fenced: fenced, 0) }

    /// Out of line: the notification path contains no fence of its own where it needs none. (P15)
    @usableFromInline @inline(never)
    static func fullFence(_ observer: UInt) -> UInt {
        // Sequentially consistent: pairs with the fence in heavy(), which runs in the thread that
        // waits.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        return observer
    }

    /// The waiter's side: a full barrier at some point of every thread's program order. Pairs with
    /// `light(fenced:)`.
    static func heavy() {
        if needsFences {
            // Sequentially consistent: pairs with the fence in light(fenced:), which then runs in
            // every walker.
            return atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        let error = membarrier()
        if error != 0 { repeatMembarrier(after: error) }
    }

    /// Repeats what can succeed later: the kernel has no memory for a moment, or the process is not
    /// registered any more, as after a checkpoint was restored.
    ///
    /// Traps when that does not help: without the barrier, what other threads still use would be
    /// freed.
    @inline(never)
    private static func repeatMembarrier(after first: Int32) {
        var error = first
        var wait = Backoff()
        for _ in 0..<mostAttempts {
            // A process that may not register, either, is refused for good.
            if error == EPERM, registerForMembarrier() != 0 { break }
            guard [EPERM, ENOMEM, EAGAIN].contains(error) else { break }
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

    /// They take half a second and more: see `Backoff`.
    private static var mostAttempts: Int { 256 }

    private static func membarrier() -> Int32 {
        return curcu_membarrier()
    }

    private static func registerForMembarrier() -> Int32 {
        return curcu_register_membarrier()
    }
}
