// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How many share the one reference to a source's core: the source, and each of its observers.
///
/// Observers are made on the threads that observe and destroyed on the library's. Counted as Swift
/// counts references, each pair would move the count's cache line from processor to processor and
/// back. Here each side counts on a line of its own, and the two counts meet once, when the source
/// is gone. (A reference count that is split by thread, for two threads: see Choi, Shull and
/// Torrellas, "Biased Reference Counting", 2018.)
internal struct BiasedReferenceCount: ~Copyable, Sendable {
    /// How many observers were made; `hasEnded` from the source's end on.
    private let made = Atomic<UInt>(0)

    /// Keeps the two counts on different lines.
    private let distance = CacheLine()

    /// Minus the observers that are gone; from the source's end on, the observers that are left.
    private let balance = Atomic<Int>(0)

    private static var hasEnded: UInt { 1 << 63 }

    /// Counts an observer that is being made. The caller holds the core for the moment.
    ///
    /// - Returns: False if the source is gone: then the observer must own a reference.
    borrowing func retain() -> Bool {
        // Relaxed: the caller's reference keeps the core until the observer is published or
        // dropped; the two sides meet in `balance`.
        made.add(1, ordering: .relaxed).oldValue & Self.hasEnded == 0
    }

    /// Counts an observer that is gone.
    ///
    /// - Returns: True if the shared reference is to be released: the source is gone, and this was
    ///   its last observer.
    borrowing func release() -> Bool {
        // Acquire and release: pairs with other calls, and with endSource(); the thread that
        // releases the core comes after all that others did to it.
        balance.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }

    /// Counts the end of the source. Once.
    ///
    /// - Parameter others: How many observers `retain()` has not counted.
    /// - Returns: True if the shared reference is to be released: no observer is left.
    borrowing func endSource(others: Int) -> Bool {
        // Relaxed: a thread that makes an observer at this moment comes before or after; the
        // exchange says which.
        let count = made.bitwiseOr(Self.hasEnded, ordering: .relaxed).oldValue
        // Acquire and release: see release().
        return balance.add(Int(count) &+ others, ordering: .acquiringAndReleasing).newValue == 0
    }
}

/// As many bytes as a processor's caches move at once.
private struct CacheLine {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
