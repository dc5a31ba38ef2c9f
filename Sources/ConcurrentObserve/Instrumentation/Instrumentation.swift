// SPDX-License-Identifier: Apache-2.0

// Marks in the protocol's code where `stress` can delay a thread (`inject`) or break a rule on purpose (`mutant`).
// The library that users build contains neither: the marks below vanish while it is compiled, names included.
#if !INSTRUMENTED

/// A point between two steps of the protocol. Nothing, in the library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func inject(_ point: StaticString) {}

/// Whether the seeded bug `name` is switched on. Never, in the library that users build.
@_alwaysEmitIntoClient @inline(__always)
internal func mutant(_ name: StaticString) -> Bool { false }

#endif
