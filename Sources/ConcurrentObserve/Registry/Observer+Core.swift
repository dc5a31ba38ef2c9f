// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// Counts an observer of the core. Returns the first values of its mark and its home.
    static func enter(_ core: borrowing RegistryCore) -> (mark: ObserverMark, home: UInt) {
        // Safe: the caller holds the core. Afterwards either the `BiasedReferenceCount` has counted
        // the observer, or the core is retained here.
        let countedCore = unsafe Unmanaged.passUnretained(copy core)
        let home = unsafe UInt(bitPattern: countedCore.toOpaque())
        if core.references.retain() { return ([], home) }
        _ = unsafe countedCore.retain()
        return (.ownsCore, home)
    }

    /// Releases the core and the extras of the observer. Must be called once for each core, by the
    /// thread that has the last reference.
    final func leaveCore() {
        // Relaxed: no other thread has the observer.
        if home.load(ordering: .relaxed) == 0 { return }
        let (core, extras) = unsafe (unmanagedCore, extras)
        // Safe: the core lives until its `BiasedReferenceCount` has counted that this observer is
        // gone.
        if knownMark.contains(.ownsCore) || withCore({ $0.references.release() }) { unsafe core.release() }
        // Relaxed: no other thread has the observer.
        home.store(0, ordering: .relaxed)
        // Safe: the reference that `addExtras` took.
        if let extras { unsafe Unmanaged.passUnretained(extras).release() }
    }

    final var unmanagedCore: Unmanaged<RegistryCore> {
        // Only one load: `addExtras` may run at the same time.
        let home = loadHome()
        // Safe, both: the observer owns a reference to its extras; untagged, the word is the core's
        // address.
        if home & 1 != 0 { return unsafe Extras.at(home).unmanagedCore }
        return unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: home).unsafelyUnwrapped)
    }

    final func loadHome() -> UInt {
        // Acquire: pairs with the release in addExtras(owner:).
        return home.load(ordering: .acquiring)
    }

    /// The part of the source that it shares with its observations.
    final var core: RegistryCore {
        // Safe: it lives as long as the observer, which the caller holds.
        unsafe unmanagedCore.takeUnretainedValue()
    }

    /// Calls `body` with the core, and counts no reference.
    @inline(__always)
    final func withCore<Result>(_ body: (RegistryCore) -> Result) -> Result {
        // Safe: it lives as long as the observer, which the caller holds.
        unsafe unmanagedCore._withUnsafeGuaranteedRef { body($0) }
    }
}
