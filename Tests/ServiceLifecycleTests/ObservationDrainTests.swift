// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle
import ConcurrentObserve
import ConcurrentObserveServiceLifecycle
import ConcurrentObserveTesting
import Dispatch
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

/// Serialized: a drain waits for everything in the process.
@Suite("Draining at shutdown", .serialized, .timeLimit(.minutes(2)))
struct ObservationDrainTests {
    @Test("The drain returns when everything is reclaimed")
    func drains() async throws {
        let registry = ObserverRegistry<Int>()
        let isDestroyed = Flag()
        let token = registry.observe { [life = Life(isDestroyed)] _ in life.touch() }
        try await testGracefulShutdown { shutdown in
            async let service: Void = ObservationDrain(within: .seconds(20)).run()
            token.cancel()
            shutdown.triggerGracefulShutdown()
            try await service
        }
        #expect(isDestroyed.isSet)
    }

    @Test("It does not begin before the shutdown")
    func waits() async throws {
        let isDone = Flag()
        try await testGracefulShutdown { shutdown in
            async let service: Void = {
                try await ObservationDrain().run()
                isDone.set()
            }()
            try await Task.sleep(for: .milliseconds(40))
            #expect(!isDone.isSet)
            shutdown.triggerGracefulShutdown()
            try await service
        }
    }

    @Test("A callback that does not return makes it fail at its deadline, with the backlog")
    func deadline() async throws {
        let registry = ObserverRegistry<Int>()
        let (entered, exit) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let token = registry.observe { _ in
            entered.signal()
            exit.wait()
        }
        DispatchQueue.global().async { registry.notify(1) }
        await onThread { entered.wait() }
        token.cancel()
        let begin = ContinuousClock.now
        let error = await #expect(throws: ObservationDrainError.self) {
            try await testGracefulShutdown { shutdown in
                shutdown.triggerGracefulShutdown()
                try await ObservationDrain(within: .milliseconds(50)).run()
            }
        }
        #expect(begin.duration(to: .now) >= .milliseconds(50))
        #expect((error?.backlog ?? 0) > 0)
        #expect(error?.description.contains("not reclaimed after") == true)
        exit.signal()
        await token.cancelAndWait()
    }

    @Test("A clock of the caller's measures the limit")
    func clock() async throws {
        let (stuck, clock) = (StuckCallback(), ManualClock())
        await stuck.begin()
        await #expect(throws: ObservationDrainError.self) {
            try await testGracefulShutdown { shutdown in
                async let service: Void = ObservationDrain(within: .seconds(60), clock: clock).run()
                shutdown.triggerGracefulShutdown()
                try await clock.whenSleeping()
                clock.advance(by: .seconds(60))
                try await service
            }
        }
        await stuck.end()
    }

    @Test("A cancelled service ends at once")
    func cancelled() async throws {
        let task = Task { try await ObservationDrain(within: .seconds(60)).run() }
        task.cancel()
        try await task.value
    }

    @Test("Cancelled while it drains, it ends at once, though a callback does not return")
    func cancelledWhileDraining() async throws {
        let stuck = StuckCallback()
        await stuck.begin()
        let begun = DrainBegins()
        try await testGracefulShutdown { shutdown in
            let task = Task { try await ObservationDrain(within: .seconds(60)).run() }
            shutdown.triggerGracefulShutdown()
            await begun.wait()
            let began = ContinuousClock.now
            task.cancel()
            try await task.value
            #expect(began.duration(to: .now) < .seconds(30))
        }
        await stuck.end()
    }

    @Test("A group whose time is up is not held by it")
    func groupWithLimits() async throws {
        let stuck = StuckCallback()
        await stuck.begin()
        var configuration = ServiceGroupConfiguration(
            services: [ObservationDrain(within: .seconds(60))],
            logger: Logger(label: "test")
        )
        configuration.maximumGracefulShutdownDuration = .milliseconds(50)
        // When this is over, too, the group ends the process.
        configuration.maximumCancellationDuration = .seconds(30)
        let group = ServiceGroup(configuration: configuration)
        async let run: Void = group.run()
        await group.triggerGracefulShutdown()
        _ = try? await run
        await stuck.end()
    }

    @Test("In a group, named first, it drains after the others have ended")
    func group() async throws {
        let registry = ObserverRegistry<Int>()
        let ended = Mutex<[String]>([])
        let token = registry.observe { _ in }
        token.onEnd { _ in ended.withLock { $0.append("observation") } }
        let server = ClosureService {
            try? await gracefulShutdown()
            ended.withLock { $0.append("server") }
            token.cancel()
        }
        let group = ServiceGroup(
            services: [ObservationDrain(within: .seconds(20)), server],
            logger: Logger(label: "test")
        )
        async let run: Void = group.run()
        await group.triggerGracefulShutdown()
        try await run
        #expect(ended.withLock { $0 } == ["server", "observation"])
    }
}

private final class Flag: Sendable {
    private let state = Atomic<Bool>(false)

    var isSet: Bool { state.load(ordering: .acquiring) }
    func set() { state.store(true, ordering: .releasing) }
}

/// The callback of an ended observation. It does not return until the test releases it.
private final class StuckCallback: Sendable {
    private let registry = ObserverRegistry<Int>()
    private let (entered, exit) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    private let token = Mutex<ObservationToken?>(nil)

    func begin() async {
        let token = registry.observe { [entered, exit] _ in
            entered.signal()
            exit.wait()
        }
        DispatchQueue.global().async { [registry] in registry.notify(1) }
        await onThread { [entered] in entered.wait() }
        token.cancel()
        self.token.withLock { $0 = token }
    }

    func end() async {
        exit.signal()
        await token.withLock { $0 }?.cancelAndWait()
    }
}

/// Signals when a drain has begun: a drain first notices dead owners.
private final class DrainBegins: Sendable {
    private let registry = ObserverRegistry<Int>()
    private let token: ObservationToken
    private let noticed = DispatchSemaphore(value: 0)

    init() {
        token = registry.observe(owner: Flag()) { _, _ in }
        token.onEnd { [noticed] _ in noticed.signal() }
    }

    func wait() async { await onThread { [noticed] in noticed.wait() } }
}

/// An object that a closure captures.
private final class Life: Sendable {
    private let isDestroyed: Flag

    init(_ isDestroyed: Flag) { self.isDestroyed = isDestroyed }

    deinit { isDestroyed.set() }

    func touch() {}
}

/// Runs `body` on a thread that it may block.
private func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            body()
            continuation.resume()
        }
    }
}
#endif
