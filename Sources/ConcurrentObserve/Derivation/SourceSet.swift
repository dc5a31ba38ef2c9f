// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What one evaluation has read, in the end: roots, each once, and others. It retains no root. (P24)
///
/// Evaluations that read the same share one.
internal final class SourceSet: @unchecked Sendable {
    // Unchecked: constants; a weak reference is read by any thread.

    /// A root, not retained. Its memory is: what says its version can be read when it is gone, and is
    /// the last then.
    struct Root {
        /// Keeps the memory, not the object: never followed.
        private unowned let memory: AnyObject
        private(set) weak var source: (any DerivationRoot)?

        init(_ source: any DerivationRoot) {
            memory = source
            self.source = source
        }
    }

    /// Where the roots' versions are, in the order in which they were read first.
    let addresses: [UInt]
    let roots: [Root]
    let others: [OtherSource]

    init(_ addresses: [UInt], _ roots: [Root], _ others: [OtherSource]) {
        (self.addresses, self.roots, self.others) = (addresses, roots, others)
    }

    /// The present version of the root whose version is there.
    @inline(__always)
    static func version(at address: UInt) -> UInt64 {
        // Safe: a `Root` of the caller's set keeps the memory.
        unsafe UnsafePointer<Latch>(bitPattern: address).unsafelyUnwrapped.pointee.presentVersion
    }
}
