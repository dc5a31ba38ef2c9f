// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A thread outside every pool, so that a test may block it.
final class TestThread: Sendable {
    private let ended = Signal("the end of a thread")
    private let thread: Mutex<pthread_t>

    /// - Parameter stackSize: In bytes. Threads by the hundred, and nesting by the hundred on one
    ///   of them: between the system's 8 MiB and its least.
    init(stackSize: Int = 2 << 20, _ body: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        var thread = pthread_t()
        let start = unsafe Unmanaged.passRetained(Start(body: body, ended: ended))
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setstacksize(&attributes, stackSize)
        let error = unsafe pthread_create(
            &thread,
            &attributes,
            { context in
                // Safe: the reference that was passed to this thread.
                let start = unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
                start.body()
                start.ended.happen()
                return nil
            },
            start.toOpaque()
        )
        unsafe pthread_attr_destroy(&attributes)
        precondition(error == 0, "the system has no thread for the test (error \(error))")
        self.thread = Mutex(thread)
    }

    /// Waits until the thread has ended, its thread-local destructors included. Once.
    func join() throws {
        try ended.wait()
        _ = thread.withLock { pthread_join($0, nil) }
    }

    /// Stops the thread for a moment, wherever it is, as a scheduler does once in a long while. Not
    /// after `join`.
    func interrupt() {
        Self.installHandler
        thread.withLock { _ = pthread_kill($0, SIGUSR1) }
    }

    private static let installHandler: Void = {
        // Longer than it takes others to do many things, shorter than a time slice of the
        // scheduler.
        signal(SIGUSR1) { _ in usleep(50) }
    }()

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        let ended: Signal

        init(body: @escaping @Sendable () -> Void, ended: Signal) {
            self.body = body
            self.ended = ended
        }
    }
}

/// Runs `body` on `count` threads at once and waits for all of them. They begin together.
func onThreads(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) throws {
    let atTheLine = Counter()
    let threads = (0..<count).map { index in
        TestThread {
            atTheLine.increment()
            while atTheLine.value < count { sched_yield() }
            body(index)
        }
    }
    for thread in threads { try thread.join() }
}

/// Where a number of threads meet, again and again.
final class StartingLine: Sendable {
    private let threads: Int
    private let arrivals = Counter()

    init(_ threads: Int) { self.threads = threads }

    /// Waits until all are here for the same time.
    func wait() {
        let mine = arrivals.increment() - 1
        while arrivals.value < (mine / threads + 1) * threads { sched_yield() }
    }
}

/// Runs `body` on a new thread and waits for it.
func onNewThread(_ body: @escaping @Sendable () -> Void) throws { try TestThread(body).join() }

/// Whether another thread gets through `body` while the caller waits for it, inside user code
/// perhaps.
func anotherThreadFinishes(_ body: @escaping @Sendable () -> Void) -> Bool {
    let done = Signal("the end of another thread's work")
    let thread = TestThread {
        body()
        done.happen()
    }
    guard done.happens(within: patience) else { return false }
    return (try? thread.join()) != nil
}

/// The kernel's number of the calling thread.
///
/// Not `pthread_self()`: the optimiser takes that for a constant, also across a suspension.
func threadNumber() -> Int { Int(currentThread()) }

// Safe: that is the function's type; looked up because the importer does not see GNU's own.
private let currentThread = unsafe unsafeBitCast(dlsym(nil, "gettid"), to: (@convention(c) () -> pid_t).self)

/// Between two looks at something that is not signalled.
func briefPause() { usleep(200) }

/// Work for other threads while the test's own keeps going: runs `body` again and again until
/// `stop()`.
final class Hammer: Sendable {
    private let isStopped = Flag()
    private let steps = Counter()
    private let threads: Mutex<[TestThread]> = Mutex([])

    init(threads count: Int, _ body: @escaping @Sendable () -> Void) {
        threads.withLock { [isStopped, steps] in
            $0 = (0..<count).map { _ in
                TestThread {
                    while !isStopped.isSet {
                        body()
                        steps.increment()
                    }
                }
            }
        }
    }

    /// Waits until every thread has been at work for a while.
    func waitUntilWarm() throws { try eventually("the hammer's first steps") { steps.value > 100 } }

    /// Stops each of the threads for a moment, wherever it is.
    func interrupt() { for thread in threads.withLock({ $0 }) { thread.interrupt() } }

    func stop() throws {
        isStopped.set()
        for thread in threads.withLock({ $0 }) { try thread.join() }
    }
}
