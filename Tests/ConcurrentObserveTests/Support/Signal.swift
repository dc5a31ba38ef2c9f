// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// How long a test waits for something that must happen. Far beyond what a loaded machine needs:
/// reaching it is a failure.
let patience = Duration.seconds(20)

/// How long a test looks at something that must not happen.
///
/// Such a look can only pass wrongly, never fail wrongly: a call that wrongly does not wait returns
/// within microseconds, so that even this short a look sees it.
let glance = Duration.milliseconds(40)

/// Something that a test has waited for and that has not happened.
struct WaitedInVain: Error, CustomStringConvertible {
    let description: String

    init(for what: String) { description = "waited \(patience) in vain for \(what)" }
}

/// Something that happens once, on any thread, and that any number of threads wait for.
final class Signal: Sendable {
    private let name: String
    private let semaphore = DispatchSemaphore(value: 0)

    /// - Parameter name: The event, for the message of a wait that fails.
    init(_ name: String) { self.name = name }

    /// Lets everybody who waits go on, now and later.
    func happen() { semaphore.signal() }

    /// Whether it happens within `limit`.
    @discardableResult
    func happens(within limit: Duration) -> Bool {
        guard semaphore.wait(timeout: .now() + limit.dispatchInterval) == .success else { return false }
        // Leaves it as found: the next one to wait goes on too.
        semaphore.signal()
        return true
    }

    /// Waits until it has happened; throws after the patience.
    func wait() throws {
        if !happens(within: patience) { throw WaitedInVain(for: name) }
    }

    /// Waits inside a callback, which cannot throw. Fails after the patience, so that a failing
    /// test comes to an end.
    func hold() { happens(within: patience) }

    /// Waits without a thread of the cooperative pool.
    func arrival() async throws {
        let happened = await withCheckedContinuation { continuation in
            _ = TestThread { continuation.resume(returning: self.happens(within: patience)) }
        }
        if !happened { throw WaitedInVain(for: name) }
    }
}

/// Waits until `condition` holds, and looks at it again and again; throws after the patience.
///
/// It serves for events of the library that signal nothing.
///
/// - Returns: How long it took.
@discardableResult
func eventually(_ what: String, _ condition: () -> Bool) throws -> Duration {
    let begin = ContinuousClock.now
    while !condition() {
        if ContinuousClock.now - begin > patience { throw WaitedInVain(for: what) }
        briefPause()
    }
    return ContinuousClock.now - begin
}

/// Waits in a task, and gives the thread to other tasks in between.
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
