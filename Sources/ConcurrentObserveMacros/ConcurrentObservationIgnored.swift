// SPDX-License-Identifier: Apache-2.0

#if Macros
/// Leaves a member of a `@ConcurrentObservable` class as it is written.
///
/// The class is `Sendable`. Therefore a stored variable with this mark must be safe by other means,
/// such as `nonisolated(unsafe)` or a wrapper.
@attached(peer)
public macro ConcurrentObservationIgnored() =
    #externalMacro(module: "ConcurrentObserveMacrosPlugin", type: "ConcurrentObservationIgnoredMacro")
#endif
