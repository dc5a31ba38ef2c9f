// SPDX-License-Identifier: Apache-2.0

public import CPlatform

/// The parts of the calling thread's state that the system keeps: the pointer to the library's
/// record, the function to call when the thread exits, and the stack.
@usableFromInline
package enum CurrentThread {
    /// The library's record of the thread; nil until the thread has one. This is a thread-local
    /// variable.
    @inlinable @inline(__always)
    package static var record: UnsafeMutableRawPointer? {
        // Safe, both: the pointer is not followed here.
        get { unsafe cplatform_get_thread_record() }
        set { unsafe cplatform_set_thread_record(newValue) }
    }

    /// Calls `hook` with `record` when the thread exits. All calls must pass the same `hook`.
    package static func callAtExit(
        with record: UnsafeMutableRawPointer,
        _ hook: @convention(c) (UnsafeMutableRawPointer) -> Void
    ) {
        // Safe: the caller's record outlives the thread.
        unsafe cplatform_note_thread_exit(record, hook)
    }

    /// Whether the thread has used nearly all of its stack. The rest is enough to print the message
    /// of a trap.
    @inlinable
    package static var stackIsNearlyUsedUp: Bool { cplatform_stack_is_nearly_used_up() }

    /// Traps if the thread-specific key or the fork handler of the library could not be set up
    /// before `main`, or if Swift's runtime does not work as the library assumes.
    package static func trapWithoutSystem() {
        let (keyError, handlerError) = (cplatform_exit_key_error(), cplatform_fork_handler_error())
        if keyError != 0 {
            fatalError(
                "ConcurrentObserve: no thread-specific key is left. Release some: a process has PTHREAD_KEYS_MAX (error \(keyError))."
            )
        }
        if handlerError != 0 {
            fatalError("ConcurrentObserve: the system has no memory for its fork handler (error \(handlerError)).")
        }
        SwiftRuntime.trapIfItDiffers()
    }
}
