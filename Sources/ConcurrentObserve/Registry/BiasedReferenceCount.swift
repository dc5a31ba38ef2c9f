// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Counts the owners that share the one reference to a source's core (`RegistryCore`): the source,
/// and its observers.
///
/// Observers are made on the threads that register them, and destroyed on the library's threads.
/// With Swift's reference count, each observer would move the count's cache line from one processor
/// to another and back. Here the registering threads have one count and the library's threads have
/// another, on different cache lines. The two counts are combined once, when the source is gone.
/// (Choi, Shull and Torrellas split a reference count by thread: "Biased Reference Counting",
/// 2018.)
internal struct BiasedReferenceCount: ~Copyable, Sendable {
    /// The number of observers that `retain()` has counted. After the end of the source, the bit
    /// `hasEnded` is also set.
    private let made = Atomic<UInt>(0)

    /// Keeps the two counts on different cache lines.
    private let distance = CacheLine()

    /// Before the end of the source, this is minus the number of released observers. After that, it
    /// is the number of observers that are left.
    private let balance = Atomic<Int>(0)

    private static var hasEnded: UInt { 1 << 63 }

    /// Counts an observer that is being made. The caller must hold the core during the call.
    ///
    /// - Returns: True if the observer is counted. False if the source is gone: then the observer
    ///   must own a reference to the core.
    borrowing func retain() -> Bool {
        // Relaxed: the caller's reference keeps the core until the observer is published or
        // dropped; the two counts are combined in `balance`.
        made.add(1, ordering: .relaxed).oldValue & Self.hasEnded == 0
    }

    /// Counts an observer that is gone.
    ///
    /// - Returns: True if the caller must release the shared reference: the source is gone, and
    ///   this was its last observer.
    borrowing func release() -> Bool {
        // Acquire and release: pairs with other calls, and with endSource(others:); the thread that
        // releases the core comes after all work of the others on it.
        balance.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }

    /// Counts the end of the source. Must be called once.
    ///
    /// - Parameter others: The number of observers that `retain()` has not counted.
    /// - Returns: True if the caller must release the shared reference, because no observer is
    ///   left.
    borrowing func endSource(others: Int) -> Bool {
        // Relaxed: a thread that makes an observer at the same moment comes before or after; the
        // atomic operation decides which.
        let count = made.bitwiseOr(Self.hasEnded, ordering: .relaxed).oldValue
        // Acquire and release: see release().
        return balance.add(Int(count) &+ others, ordering: .acquiringAndReleasing).newValue == 0
    }
}

/// Sixty-four bytes, the size of a cache line on many processors. It separates two fields.
private struct CacheLine {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
