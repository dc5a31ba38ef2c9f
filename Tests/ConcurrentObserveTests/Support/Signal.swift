// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// The time for which a test waits for an event that must happen. It is much longer than a busy
/// machine needs, so reaching it is a failure.
let patience = Duration.seconds(20)

/// The time for which a test watches for an event that must not happen.
///
/// Such a check can only pass wrongly, never fail wrongly. A call that wrongly does not wait
/// returns within microseconds, so even this short time is enough.
let glance = Duration.milliseconds(40)

/// Thrown if an event for which a test has waited has not happened.
struct WaitedInVain: Error, CustomStringConvertible {
    let description: String

    init(for what: String) { description = "waited \(patience) in vain for \(what)" }
}

/// An event that happens once, on any thread. Any number of threads can wait for it.
final class Signal: Sendable {
    private let name: String
    private let semaphore = DispatchSemaphore(value: 0)

    /// Makes a signal.
    ///
    /// - Parameter name: The event, for the message of a wait that fails.
    init(_ name: String) { self.name = name }

    /// Lets all waiting threads continue, now and later.
    func happen() { semaphore.signal() }

    /// Waits for the event, and returns whether it happens within `limit`.
    @discardableResult
    func happens(within limit: Duration) -> Bool {
        guard semaphore.wait(timeout: .now() + limit.dispatchInterval) == .success else { return false }
        // Leaves it as found: the next one to wait goes on too.
        semaphore.signal()
        return true
    }

    /// Waits until it has happened. Throws after the time `patience`.
    func wait() throws {
        if !happens(within: patience) { throw WaitedInVain(for: name) }
    }

    /// Waits inside a callback, which cannot throw. Fails after the time `patience`, so that a
    /// failing test ends.
    func hold() { happens(within: patience) }

    /// Waits, and uses no thread of the cooperative pool.
    func arrival() async throws {
        let happened = await withCheckedContinuation { continuation in
            _ = TestThread { continuation.resume(returning: self.happens(within: patience)) }
        }
        if !happened { throw WaitedInVain(for: name) }
    }
}

/// Waits until `condition` holds, and checks it again and again. Throws after the time `patience`.
///
/// Use it for events of the library that have no signal.
///
/// - Returns: The time that it took.
@discardableResult
func eventually(_ what: String, _ condition: () -> Bool) throws -> Duration {
    let begin = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - begin > patience { throw WaitedInVain(for: what) }
        briefPause()
    }
    return ContinuousClock.now - begin
}

/// Waits in a task, and lets other tasks run between the checks.
func eventuallyAsync(_ what: String, _ condition: () -> Bool) async throws {
    let begin = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - begin > patience { throw WaitedInVain(for: what) }
        try await Task.sleep(for: .microseconds(200))
    }
}

extension Duration {
    fileprivate var dispatchInterval: DispatchTimeInterval {
        .nanoseconds(Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000))
    }
}
