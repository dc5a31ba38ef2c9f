// SPDX-License-Identifier: Apache-2.0

#if Macros
/// Leaves a member of a `@ConcurrentObservable` class as it is written.
///
/// The class is `Sendable`, so that a stored variable that is left out must be safe by other means:
/// `nonisolated(unsafe)`, or a wrapper.
@attached(peer)
public macro ConcurrentObservationIgnored() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentObservationIgnoredMacro")
#endif
