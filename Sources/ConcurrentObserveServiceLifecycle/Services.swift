// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle && Metrics
public import ConcurrentObserveMetrics
public import ServiceLifecycle

extension LibraryMetrics: Service {
    /// Publishes every ten seconds, until the graceful shutdown or until the task is cancelled.
    /// Then publishes once more.
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
    /// Keeps the watch alive until the graceful shutdown, or until the task is cancelled. The watch
    /// looks on its own queue.
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
    /// Sets the property until the graceful shutdown, or until the task is cancelled.
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
