// SPDX-License-Identifier: Apache-2.0

/// A task that waits until a mailbox has delivered or dropped all events that were in it when the
/// wait began.
///
/// A thread takes the flush from the mailbox under the mailbox's lock, and resumes the task under
/// no lock.
@safe @usableFromInline
internal final class Flush: @unchecked Sendable {
    // Unchecked: guarded by the mailbox's lock until a thread takes it from there; then only that
    // thread uses it.

    /// The number of events that must have left the mailbox.
    fileprivate var target: UInt64 = 0
    /// Whether the waiting task was cancelled.
    fileprivate var isWithdrawn = false
    fileprivate var continuation: UnsafeContinuation<Bool, Never>?

    init() {}

    /// Resumes the task. The caller must hold no lock, because the executor that will run the task
    /// may be user code.
    ///
    /// - Parameter isFlushed: Whether the events have left the mailbox; false if the task was
    ///   cancelled.
    func resume(_ isFlushed: Bool) {
        // Safe: only the thread that has taken the flush from the mailbox resumes it.
        unsafe continuation.take()?.resume(returning: isFlushed)
    }

    /// Resumes the tasks of flushes that were taken from a mailbox.
    @usableFromInline @inline(never)
    static func resume(_ flushes: [Flush]) { for flush in flushes { flush.resume(true) } }
}

/// The flushes that wait in a mailbox, in the order in which they came. The caller of each function
/// must hold the mailbox's lock.
extension [Flush] {
    /// Takes out and returns the flushes whose events are among the first `position` events, which
    /// have left the mailbox.
    @usableFromInline
    internal mutating func take(through position: UInt64) -> [Flush] {
        let settled = prefix { $0.target <= position }
        removeFirst(settled.count)
        return Array(settled)
    }

    /// Adds a flush, which waits until `position` is reached.
    ///
    /// - Parameter position: The number of events that must have left the mailbox; nil if the flush
    ///   need not wait for any event.
    /// - Returns: The result of the flush, if it need not wait; nil if it waits.
    internal mutating func add(_ flush: Flush, until position: UInt64?) -> Bool? {
        guard let position else { return true }
        if flush.isWithdrawn { return false }
        flush.target = position
        append(flush)
        return nil
    }

    /// Takes out a flush whose task was cancelled. Returns false if the flush does not wait in this
    /// mailbox.
    fileprivate mutating func withdraw(_ flush: Flush) -> Bool {
        flush.isWithdrawn = true
        guard let index = firstIndex(where: { $0 === flush }) else { return false }
        remove(at: index)
        return true
    }
}

/// A mailbox that a task can wait for.
internal protocol FlushableMailbox: AnyObject, Sendable {
    /// Where the events are delivered, for diagnostics, as in "on an actor".
    var place: String { get }

    /// Calls `body` under the mailbox's lock.
    ///
    /// - Parameter body: Receives the mailbox's flushes. `target` is the number of events that must
    ///   leave the mailbox before a flush that begins now is over; nil if such a flush is over at
    ///   once.
    func withFlushes(_ body: (_ flushes: inout [Flush], _ target: UInt64?) -> Void)
}

extension FlushableMailbox {
    /// Suspends the calling task until the events in the mailbox are delivered or dropped. Returns
    /// false if the task was cancelled before.
    nonisolated(nonsending) func flush() async -> Bool {
        let flush = Flush()
        return await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in unsafe begin(flush, continuation) }
        } onCancel: {
            withdraw(flush)
        }
    }

    // Not inlined, both, so that an asynchronous function never keeps a thread's address across a
    // suspension.

    @inline(never)
    private func begin(_ flush: Flush, _ continuation: UnsafeContinuation<Bool, Never>) {
        var result: Bool?
        // Safe: no other thread takes the flush before it waits in the mailbox.
        unsafe flush.continuation = unsafe continuation
        withFlushes { flushes, target in result = flushes.add(flush, until: target) }
        if let result { flush.resume(result) }
    }

    @inline(never)
    private func withdraw(_ flush: Flush) {
        var isWaiting = false
        withFlushes { flushes, _ in isWaiting = flushes.withdraw(flush) }
        if isWaiting { flush.resume(false) }
    }
}

// MARK: - Public

extension ObservationToken {
    /// Suspends until every change whose setter returned before the call is delivered or dropped. A
    /// change is delivered when its callback has returned.
    ///
    /// The call does not wait for changes that begin later. You may call it anywhere, also for an
    /// observation that has ended: the changes that were left are dropped. An inline observation
    /// has no mailbox, and a change is delivered before its setter returns, so there is nothing to
    /// wait for. The call waits for callbacks without a time limit. A callback must not wait for
    /// the call.
    ///
    /// ```swift
    /// car.mileage.value = 7
    /// await token.flush()
    /// // The callback has returned for 7.
    /// ```
    ///
    /// - Returns: True if all changes were delivered or dropped; false once the waiting task is
    ///   cancelled.
    @discardableResult
    public nonisolated(nonsending) func flush() async -> Bool {
        guard let mailbox = observer.delivery?.mailbox else { return true }
        return await mailbox.flush()
    }
}

extension ObservationScope {
    /// Suspends until every event that was in a mailbox of the scope is delivered or dropped. An
    /// event is delivered when its callback has returned. The call does not wait for iterators.
    ///
    /// - Returns: False once the waiting task is cancelled.
    package nonisolated(nonsending) func flush() async -> Bool {
        for made in observations {
            guard await made.observer.delivery?.mailbox?.flush() ?? true else { return false }
        }
        return true
    }
}

extension MadeObservation {
    /// The counts of the events that wait for the observation's closure; nil if it is inline, and
    /// for an iterator.
    package var counts: DeliveryCounts? {
        guard let delivery = observer.delivery, delivery.mailbox != nil else { return nil }
        return delivery.counter.counts
    }
}
