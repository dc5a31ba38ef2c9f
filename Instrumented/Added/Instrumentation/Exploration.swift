// SPDX-License-Identifier: Apache-2.0

/// Runs the library's threads one at a time, and chooses the thread at every step: the virtual
/// backend of `stress explore`.
///
/// The library calls it wherever threads meet. Each answer says whether the scheduler runs the
/// calling thread. If not, the library behaves as it does without a scheduler.
public protocol ExplorationBackend: AnyObject, Sendable {
    /// The calling thread is about to take a step that others may notice. Another thread may run
    /// first.
    func step(_ name: StaticString) -> Bool
    /// Returns when `condition` holds, or, with a limit, when nothing else can happen before that
    /// has passed.
    ///
    /// - Parameter condition: Looks, and changes nothing. Called on any thread.
    func wait(_ name: StaticString, atMost limit: Duration?, until condition: () -> Bool) -> Bool
    /// As `wait` without a limit, for a thread of the library that may wait for ever.
    func park(_ name: StaticString, until condition: () -> Bool) -> Bool
    /// As `step`, where the program allows faults; false where it does not.
    func faultPoint(_ name: StaticString) -> Bool
    /// Whether the system has no thread to give now.
    func refusesThread() -> Bool
    /// Returns when another thread has taken a step.
    func pause() -> Bool
    /// Runs `body` on another thread of the scheduler's.
    func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool
    /// Whether the calling thread, which reclaims, ends here: so that the next program starts one,
    /// or is refused it.
    func endsReclamationThread() -> Bool
    /// The time, which passes only when nothing else can happen.
    var now: ContinuousClock.Instant? { get }

    /// The calling thread enters a read section (1) or leaves it (-1).
    func changeReadDepth(by change: Int)
    /// Returns when every read section that is open now has been left.
    func awaitReaders() -> Bool

    /// The calling thread calls an observer's closure, or returns from it.
    func willCall(observer: UInt)
    func didCall(observer: UInt)
    /// An observer's closure is destroyed.
    func willDestroy(observer: UInt)
    /// A property's value is destroyed. True if it is to stay, so that who still reads it is found
    /// out.
    func willDestroy(value: UInt) -> Bool
    /// The calling thread has read, or goes on reading, a property's value.
    func didRead(value: UInt)
    /// A walk has ended on a table that was freed during the walk.
    func didWalkFreedTable()
}

extension Instrumentation {
    /// The scheduler of the library's threads, if there is one. Written once, before any other
    /// thread runs.
    nonisolated(unsafe) public static var exploration: (any ExplorationBackend)?
}

// The marks in the library's code, one line each. Their empty twins are in Instrumentation.swift.

@inline(never) @usableFromInline @discardableResult
internal func exploredStep(_ name: StaticString) -> Bool {
    unsafe Instrumentation.exploration?.step(name) ?? false
}

@inline(never) @usableFromInline
internal func exploredWait(
    _ name: StaticString,
    atMost limit: Duration? = nil,
    until condition: () -> Bool
) -> Bool {
    unsafe Instrumentation.exploration?.wait(name, atMost: limit, until: condition) ?? false
}

@inline(never)
internal func exploredPark(_ name: StaticString, atMost limit: Duration?, until condition: () -> Bool) -> Bool {
    if limit != nil { return exploredWait(name, atMost: limit, until: condition) }
    return unsafe Instrumentation.exploration?.park(name, until: condition) ?? false
}

internal func exploredPause() -> Bool { unsafe Instrumentation.exploration?.pause() ?? false }

internal func exploredStart(_ name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool {
    unsafe Instrumentation.exploration?.start(named: name, body) ?? false
}

internal func exploredEnd() -> Bool { unsafe Instrumentation.exploration?.endsReclamationThread() ?? false }

internal var isExploredProcess: Bool { unsafe Instrumentation.exploration != nil }

internal func exploredNow() -> ContinuousClock.Instant? { unsafe Instrumentation.exploration?.now }

@inline(never) @usableFromInline
internal func exploredReadDepth(_ change: Int) { unsafe Instrumentation.exploration?.changeReadDepth(by: change) }

internal func exploredGracePeriod() -> Bool { unsafe Instrumentation.exploration?.awaitReaders() ?? false }

@inline(never) @usableFromInline
internal func exploredCall(_ observer: UInt) { unsafe Instrumentation.exploration?.willCall(observer: observer) }

@inline(never) @usableFromInline
internal func exploredReturn(_ observer: UInt) { unsafe Instrumentation.exploration?.didCall(observer: observer) }

internal func exploredDestruction(ofObserver observer: UInt) {
    unsafe Instrumentation.exploration?.willDestroy(observer: observer)
}

@inline(never) @usableFromInline
internal func exploredDestruction(ofValue value: UInt) -> Bool {
    unsafe Instrumentation.exploration?.willDestroy(value: value) ?? false
}

@inline(never) @usableFromInline
internal func exploredRead(_ value: UInt) { unsafe Instrumentation.exploration?.didRead(value: value) }
