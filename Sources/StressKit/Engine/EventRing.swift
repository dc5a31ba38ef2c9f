// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The last events of a thread. Only this thread writes them, and its writes add no memory
/// ordering. The thread that reports a failure reads them.
@safe @usableFromInline package final class EventRing: @unchecked Sendable {
    // Unchecked: the memory consists of atomics, and is freed with the object.
    @inlinable package static var capacity: Int { 64 }

    /// Three words for each event: its time, its name, and its number.
    @usableFromInline package let words: UnsafeMutablePointer<Atomic<UInt>>
    @usableFromInline package let written = Atomic<Int>(0)

    package init() {
        // Safe: initialised here, freed with the object.
        unsafe words = .allocate(capacity: 3 * Self.capacity)
        for index in 0..<3 * Self.capacity { unsafe (words + index).initialize(to: Atomic(0)) }
    }

    deinit { unsafe words.deallocate() }

    /// Records an event. Only the ring's own thread may call it. `name` must be a literal that ends
    /// with a zero byte, as all literals do.
    @inlinable @inline(__always)
    package func note(_ name: StaticString, _ number: UInt64, at time: UInt64) {
        let count = written.load(ordering: .relaxed)
        let slot = 3 * (count % Self.capacity)
        // Relaxed, all: a report that reads an event while it is overwritten may mix two events,
        // but the address always belongs to a name. Safe: the slot is within the ring.
        unsafe words[slot].store(UInt(time), ordering: .relaxed)
        unsafe words[slot + 1].store(UInt(bitPattern: name.utf8Start), ordering: .relaxed)
        unsafe words[slot + 2].store(UInt(truncatingIfNeeded: number), ordering: .relaxed)
        written.store(count &+ 1, ordering: .relaxed)
    }

    /// Calls `body` with the last events, the oldest first. Any thread, also in a signal handler:
    /// it allocates nothing.
    package func forLast(_ count: Int, _ body: (_ time: UInt64, _ name: UnsafePointer<CChar>, _ number: UInt64) -> Void)
    {
        let end = written.load(ordering: .relaxed)
        for index in max(0, end - min(count, Self.capacity))..<end {
            let slot = 3 * (index % Self.capacity)
            let address = unsafe words[slot + 1].load(ordering: .relaxed)
            // Safe: literals live as long as the program.
            guard let name = unsafe UnsafePointer<CChar>(bitPattern: address) else { continue }
            unsafe body(
                UInt64(words[slot].load(ordering: .relaxed)),
                name,
                UInt64(words[slot + 2].load(ordering: .relaxed))
            )
        }
    }
}

/// One of the last events before a failure.
public struct Event: Codable, Sendable, Equatable {
    /// The number of the thread.
    public let thread: Int
    /// The time from the event's begin to the failure, in microseconds.
    public let microsecondsBefore: Double
    /// The name that the operation or the note was given.
    public let name: String
    /// The number of the operation, or the number that was passed to `note`.
    public let number: UInt64

    package init(thread: Int, microsecondsBefore: Double, name: String, number: UInt64) {
        (self.thread, self.microsecondsBefore, self.name, self.number) = (thread, microsecondsBefore, name, number)
    }

    /// The event's name and number. A closure's number is written as the thread that has made it,
    /// and its place among that thread's closures.
    package var text: String {
        number < 1 << 40
            ? "\(name) \(number)" : "\(name), closure \(number & (1 << 40 - 1)) of thread \((number >> 40) - 1)"
    }
}

extension Worker {
    /// The thread's last events, the oldest first.
    package func lastEvents(_ count: Int, before now: UInt64) -> [Event] {
        var found: [Event] = []
        unsafe events.forLast(count) { time, name, number in
            found.append(
                Event(
                    thread: index,
                    microsecondsBefore: time < now ? (Double(now - time) / 100).rounded() / 10 : 0,
                    name: unsafe String(cString: name),
                    number: number
                )
            )
        }
        return found
    }
}
