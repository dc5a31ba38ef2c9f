// SPDX-License-Identifier: Apache-2.0

public import CPlatform

/// Traps if the child of a `fork` does something that it must not do. The library does nothing else
/// about forks. (P18)
///
/// A fork copies the memory as it is at that moment, including locks that other threads hold. These
/// threads do not exist in the child, so they never release the locks there. If the parent has used
/// the library, the child may therefore only read values, which takes no lock, and call `exec` or
/// `_exit`. A fork handler sets a flag in the child. Every lock of the library reads the flag, and
/// traps if it is set. The parent is not affected.
@usableFromInline
package enum Fork {
    /// Whether the process is the child of a process that had used the library before the fork.
    @inlinable
    package static var isInChild: Bool { cplatform_is_child() }

    /// Records that the process has used the library. The library calls this function before it
    /// makes anything that has a lock.
    @inlinable
    package static func noteUse() { cplatform_note_use() }

    @inlinable @inline(__always)
    package static func trapInChild() {
        if isInChild { trap() }
    }

    @usableFromInline @inline(never)
    internal static func trap() -> Never {
        fatalError(
            "ConcurrentObserve: the child of a fork has used more than the values of its parent. It may read values, and call exec or _exit. Use posix_spawn, or fork before the first use of the library."
        )
    }
}
