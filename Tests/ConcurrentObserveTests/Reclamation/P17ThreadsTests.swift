// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P17 Threads come and go")
    struct P17ThreadsTests {}
}

extension Promises.P17ThreadsTests {
    @Test("P17 A thousand short-lived threads leave no more records than ever lived at once")
    func bursts() throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let lives = Lives()
        let constant = registry.observe { _ in calls.increment() }
        let before = ConcurrentObserveDiagnostics.current().threadRecords
        let (bursts, width) = (50, 20)
        for _ in 0..<bursts {
            try onThreads(width) { _ in
                let life = lives.make()
                let token = registry.observe { _ in life.touch() }
                registry.notify(1)
                token.cancel()
            }
        }
        #expect(calls.value == bursts * width)
        // The threads of the library and of the pool come on top of the burst's.
        #expect(ConcurrentObserveDiagnostics.current().threadRecords <= before + width + 16)
        // Items that ended threads have retired are reclaimed all the same.
        try lives.waitUntilNoneIsLeft()
        #expect(constant.cancelAndWaitBlocking() == .finished)
        try Process.settle()
    }

    @Test("P17 A thread that has only notified, asked, cancelled or waited leaves nothing behind")
    func everyUse() throws {
        let registry = ObserverRegistry<Int>()
        let token = registry.observe { _ in }
        let uses: [@Sendable () -> Void] = [
            { registry.notify(1) },
            { _ = registry.observationCount },
            { registry.observe { _ in }.cancel() },
            { registry.observe { _ in }.cancelAndWaitBlocking() },
            { ConcurrentObserveDiagnostics.drain(deadline: .now + patience) },
            { _ = ConcurrentObserveDiagnostics.current() },
        ]
        for use in uses { try onNewThread(use) }
        let before = ConcurrentObserveDiagnostics.current().threadRecords
        for _ in 0..<20 { for use in uses { try onNewThread(use) } }
        #expect(ConcurrentObserveDiagnostics.current().threadRecords <= before + 4)
        withExtendedLifetime(token) {}
    }

    @Test("P17 Thread-local destructors may notify, observe and cancel")
    func threadLocalDestructors() throws {
        let registry = ExitingThreads.registry
        let calls = Counter()
        let token = registry.observe { _ in calls.increment() }
        // Made after the library's own: its destructor runs when the library has let the thread go.
        registry.notify(0)
        let key = try ExitingThreads.makeKey()
        let before = ConcurrentObserveDiagnostics.current().threadRecords
        let threads = 300
        for _ in 0..<threads {
            try onNewThread {
                registry.notify(1)
                ExitingThreads.mark(key)
            }
        }
        // Each thread: once itself, once in the destructor.
        #expect(calls.value == 1 + 2 * threads)
        #expect(ConcurrentObserveDiagnostics.current().threadRecords <= before + 8)
        #expect(registry.observationCount == 1)
        #expect(token.cancelAndWaitBlocking() == .finished)
        try Process.settle()
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == 0)
    }

    @Test("P17 The tasks of a pool and the threads of the system use the library alike")
    func pools() async throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let constant = registry.observe { _ in calls.increment() }
        await withTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    let token = registry.observe { _ in calls.increment() }
                    await Task.yield()
                    #expect(await token.cancelAndWait() == .finished)
                    registry.notify(1)
                }
            }
        }
        #expect(calls.value >= 200)
        #expect(registry.observationCount == 1)
        #expect(await constant.cancelAndWait() == .finished)
    }

    @Test("P17 A thread that ends inside a callback is noticed", arguments: Inside.allCases)
    func endInsideCallback(place: Inside) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [place] in
            Process.limitLife(seconds: 20)
            place.enterOnNewThread { pthread_exit(nil) }
            // Reached only without the trap.
            exit(EXIT_SUCCESS)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("ConcurrentObserve: a thread has ended inside a callback"), "\(text.prefix(1_000))")
    }

    @Test("P17 A thread that ends itself after its callbacks have returned is like any other")
    func endOutsideCallbacks() throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let token = registry.observe { _ in calls.increment() }
        var thread = pthread_t()
        let body = unsafe Unmanaged.passRetained(Work { registry.notify(1) })
        let error = unsafe pthread_create(
            &thread,
            nil,
            { context in
                // Safe: the reference that was passed to this thread.
                unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().body()
                pthread_exit(nil)
            },
            body.toOpaque()
        )
        try #require(error == 0)
        pthread_join(thread, nil)
        #expect(calls.value == 1)
        try onNewThread { #expect(token.cancelAndWaitBlocking() == .finished) }
        try Process.settle()
    }

    @Test("P17 A process that has used up its thread-specific keys uses the library, whose key is older")
    func noKeyLeft() async {
        await #expect(processExitsWith: .success) {
            var key = pthread_key_t()
            while unsafe pthread_key_create(&key, nil) == 0 {}
            let registry = ObserverRegistry<Int>()
            let count = { ConcurrentObserveDiagnostics.current().threadRecords }
            for _ in 0..<20 { try onNewThread { registry.observe { _ in }.cancel() } }
            check(count() <= 8, "the records of threads that have exited are not taken over: there are \(count())")
        }
    }
}

/// The work of threads that use the library while they exit.
private enum ExitingThreads {
    static let registry = ObserverRegistry<Int>()

    static func makeKey() throws -> pthread_key_t {
        var key = pthread_key_t()
        let error = unsafe pthread_key_create(&key) { _ in
            ExitingThreads.registry.notify(2)
            let token = ExitingThreads.registry.observe { _ in }
            token.cancel()
        }
        try #require(error == 0)
        return key
    }

    /// Makes the thread call the destructor when it exits.
    static func mark(_ key: pthread_key_t) {
        // Safe: the value is not followed.
        unsafe _ = pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }
}

/// The work of a thread.
private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// A place in which a thread must not exit.
enum Inside: String, CaseIterable, Codable, Sendable {
    case notification, nested, change, modify, withValue, initial, serial, deinitialiser, onEnd

    /// Makes a new thread call `leave` in this place, and waits until the thread has ended.
    func enterOnNewThread(_ leave: @escaping @Sendable () -> Void) {
        let thread = TestThread { enter(leave) }
        try? thread.join()
        // A deinitialiser runs on a thread of the library's.
        ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(10))
    }

    private func enter(_ leave: @escaping @Sendable () -> Void) {
        let registry = ObserverRegistry<Int>()
        let property = Observed(0)
        switch self {
        case .notification:
            let token = registry.observe { _ in leave() }
            registry.notify(1)
            token.cancel()
        case .nested:
            let token = registry.observe { level in level == 20 ? leave() : registry.notify(level + 1) }
            registry.notify(1)
            token.cancel()
        case .change:
            let token = property.observe { (_: Change<Int>) in leave() }
            property.value = 1
            token.cancel()
        case .modify: property.modify { _ in leave() }
        case .withValue: property.withValue { _ in leave() }
        case .initial: property.observeValues(options: .initial) { _ in leave() }.cancel()
        case .serial:
            let token = property.observe(delivery: .serial()) { _ in leave() }
            property.value = 1
            token.cancel()
        case .deinitialiser:
            let leaving = Leaving(leave)
            registry.observe { _ in withExtendedLifetime(leaving) {} }.cancel()
        case .onEnd:
            let token = registry.observe { _ in }
            token.onEnd { _ in leave() }
            token.cancelAndWaitBlocking()
        }
    }

    private final class Leaving: Sendable {
        private let leave: @Sendable () -> Void
        init(_ leave: @escaping @Sendable () -> Void) { self.leave = leave }
        deinit { leave() }
    }
}
