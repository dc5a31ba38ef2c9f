// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle && Metrics
public import ConcurrentObserveMetrics
public import ServiceLifecycle

extension LibraryMetrics: Service {
    /// Publishes every ten seconds until the graceful shutdown or the task's cancellation, and once
    /// more then.
    ///
    /// ```swift
    /// let group = ServiceGroup(services: [LibraryMetrics(), server], logger: logger)
    /// ```
    public func run() async {
        await cancelWhenGracefulShutdown { await self.run(every: .seconds(10)) }
        publish()
    }
}
#endif

#if ServiceLifecycle && Logging
public import ConcurrentObserveLogging
public import ServiceLifecycle

extension StuckCallbackWatch: Service {
    /// Keeps the watch, which looks on its own queue, until the graceful shutdown or the task's
    /// cancellation.
    ///
    /// ```swift
    /// let watch = StuckCallbackWatch(logger: logger)
    /// let group = ServiceGroup(services: [watch, server], logger: logger)
    /// ```
    public func run() async {
        try? await gracefulShutdown()
        withExtendedLifetime(self) {}
    }
}
#endif

#if ServiceLifecycle && Configuration
public import ConcurrentObserveConfiguration
public import ServiceLifecycle

extension ConfigFollower: Service {
    /// Sets the property until the graceful shutdown or the task's cancellation.
    ///
    /// ```swift
    /// let follower = ConfigFollower(workers, key: "workers", in: config)
    /// let group = ServiceGroup(services: [reloadingProvider, follower, server], logger: logger)
    /// ```
    public func run() async throws {
        try await cancelWhenGracefulShutdown { try await self.follow() }
    }
}
#endif
