// SPDX-License-Identifier: Apache-2.0

import Dispatch
import StressKit
import Synchronization

// Small objects, each with a version that has a well-known bug. They are written as a user writes
// them: with StressKit's public functions only.

/// A counter. The broken one loses an update between its two steps.
final class Counter: Sendable {
    private let isBroken: Bool
    private let count = Atomic<Int>(0)

    init(isBroken: Bool) { self.isBroken = isBroken }

    var value: Int { count.load(ordering: .relaxed) }

    func increment() {
        guard isBroken else { return _ = count.add(1, ordering: .relaxed) }
        let old = count.load(ordering: .relaxed)
        stressPoint("counter.read")
        count.store(old + 1, ordering: .relaxed)
    }
}

/// A lock. The broken one first looks and then takes.
final class SpinLock: Sendable {
    private let isBroken: Bool
    private let isTaken = Atomic<Bool>(false)

    init(isBroken: Bool) { self.isBroken = isBroken }

    func withLock(_ body: () -> Void) {
        while !take() { DispatchQueue.global().sync {} }
        body()
        isTaken.store(false, ordering: .releasing)
    }

    private func take() -> Bool {
        guard isBroken else { return !isTaken.exchange(true, ordering: .acquiring) }
        guard !isTaken.load(ordering: .acquiring) else { return false }
        stressPoint("lock.tested")
        isTaken.store(true, ordering: .relaxed)
        return true
    }
}

/// A cache of one value, filled from its origin at the first read. In the broken one, a read that
/// has left the origin stores an old value after the value was replaced.
final class Cache: Sendable {
    private let isBroken: Bool
    private let lock = Mutex(())
    private let origin = Atomic<Int>(0)
    /// The cached value; -1 for none.
    private let cached = Atomic<Int>(-1)

    init(isBroken: Bool) { self.isBroken = isBroken }

    var value: Int {
        let found = cached.load(ordering: .acquiring)
        if found >= 0 { return found }
        return isBroken ? fill() : lock.withLock { _ in fill() }
    }

    private func fill() -> Int {
        let value = origin.load(ordering: .acquiring)
        stressPoint("cache.loaded")
        cached.store(value, ordering: .releasing)
        return value
    }

    func replace(_ value: Int) {
        if isBroken { put(value) } else { lock.withLock { _ in put(value) } }
    }

    private func put(_ value: Int) {
        origin.store(value, ordering: .releasing)
        cached.store(-1, ordering: .releasing)
    }
}

/// A queue of two places. In the broken one, two threads may put their items into the same place.
final class BoundedQueue: Sendable {
    private let isBroken: Bool
    private let lock = Mutex(())
    private let first = Atomic<Int>(0)
    private let second = Atomic<Int>(0)
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)

    init(isBroken: Bool) { self.isBroken = isBroken }

    /// Returns whether there was room.
    func enqueue(_ item: Int) -> Bool { exclusively { put(item) } }
    func dequeue() -> Int? { lock.withLock { _ in take() } }

    private func exclusively(_ body: () -> Bool) -> Bool { isBroken ? body() : lock.withLock { _ in body() } }

    private func put(_ item: Int) -> Bool {
        let end = tail.load(ordering: .acquiring)
        guard end - head.load(ordering: .acquiring) < 2 else { return false }
        stressPoint("queue.room")
        if end % 2 == 0 { first.store(item, ordering: .relaxed) } else { second.store(item, ordering: .relaxed) }
        tail.store(end + 1, ordering: .releasing)
        return true
    }

    private func take() -> Int? {
        let start = head.load(ordering: .relaxed)
        guard start < tail.load(ordering: .acquiring) else { return nil }
        let item = start % 2 == 0 ? first.load(ordering: .relaxed) : second.load(ordering: .relaxed)
        head.store(start + 1, ordering: .releasing)
        return item
    }
}

/// The behaviour of a queue of two places.
enum QueueOfTwo: SequentialSpecification {
    enum Operation: Sendable, CustomStringConvertible {
        case enqueue(Int, hadRoom: Bool)
        case dequeue(Int?)

        var description: String {
            switch self {
            case .enqueue(let item, let hadRoom): "enqueue \(item) → \(hadRoom)"
            case .dequeue(let item): "dequeue → \(item.map { "\($0)" } ?? "nothing")"
            }
        }
    }

    static var initial: [Int] { [] }

    static func state(after operation: Operation, in items: [Int]) -> [Int]? {
        switch operation {
        case .enqueue(let item, true): items.count < 2 ? items + [item] : nil
        case .enqueue(_, false): items.count == 2 ? items : nil
        case .dequeue(let item): item == items.first ? Array(items.dropFirst()) : nil
        }
    }
}
