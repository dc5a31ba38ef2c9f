// SPDX-License-Identifier: Apache-2.0

// Marks in the protocol's code where `stress` can delay a thread (`inject`). Seeded bugs, which break a rule on purpose, have no mark here:
// they stand under the define.
// The library that users build contains neither: the marks below vanish while it is compiled, names included.
#if !INSTRUMENTED

/// A point between two steps of the protocol. Nothing, in the library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func inject(_ point: StaticString) {}

/// A point at which the system may do its worst: fork, most of all. Nothing, in the library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func faultPoint(_ point: StaticString) {}

/// A snapshot holds off publication. Counted nowhere, in the library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func noteHeldSnapshot() {}

/// After how many failures the function of a derived value runs on copies: as usual, in the library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func failuresBeforeCopies(_ usual: Int) -> Int { usual }

/// Whether the system has no thread to give. Never for this reason, in the library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func isThreadRefused() -> Bool { false }

/// The error number that the system has for membarrier, or for the registration for it; 0 asks the kernel. Always, in the
/// library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func barrierFault(isRegistration: Bool) -> Int32 { 0 }

// Where the explorer's scheduler takes over, in the instrumented build: see Exploration.swift. Nothing, and never, here.

@_alwaysEmitIntoClient @inline(__always) @discardableResult
internal func exploredStep(_ name: StaticString) -> Bool { false }

@_alwaysEmitIntoClient @inline(__always)
internal func exploredWait(
    _ name: StaticString,
    atMost limit: Duration? = nil,
    until condition: () -> Bool
) -> Bool { false }

@_alwaysEmitIntoClient @inline(__always)
internal func exploredPark(_ name: StaticString, atMost limit: Duration?, until condition: () -> Bool) -> Bool { false }

@_alwaysEmitIntoClient @inline(__always)
internal func exploredPause() -> Bool { false }

@_alwaysEmitIntoClient @inline(__always)
internal func exploredStart(_ name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool { false }

/// Whether the explorer ends the reclamation thread here.
@_alwaysEmitIntoClient @inline(__always)
internal func exploredEnd() -> Bool { false }

@_alwaysEmitIntoClient
internal var isExploredProcess: Bool { @inline(__always) get { false } }

@_alwaysEmitIntoClient @inline(__always)
internal func exploredReadDepth(_ change: Int) {}

@_alwaysEmitIntoClient @inline(__always)
internal func exploredGracePeriod() -> Bool { false }

@_alwaysEmitIntoClient @inline(__always)
internal func exploredCall(_ observer: UInt) {}

@_alwaysEmitIntoClient @inline(__always)
internal func exploredReturn(_ observer: UInt) {}

@_alwaysEmitIntoClient @inline(__always)
internal func exploredDestruction(ofObserver observer: UInt) {}

@_alwaysEmitIntoClient @inline(__always)
internal func exploredDestruction(ofValue value: UInt) -> Bool { false }

@_alwaysEmitIntoClient @inline(__always)
internal func exploredRead(_ value: UInt) {}

#endif
