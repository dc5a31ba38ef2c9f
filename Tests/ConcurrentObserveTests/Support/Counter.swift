// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A number that several threads increment.
final class Counter: Sendable {
    // Sequentially consistent throughout: tests compare what happened on several threads.
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Adds one. Returns the new value.
    @discardableResult
    func increment() -> Int { count.add(1, ordering: .sequentiallyConsistent).newValue }

    func add(_ amount: Int) { count.add(amount, ordering: .sequentiallyConsistent) }
}

/// A value that is false, and becomes true forever.
final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .sequentiallyConsistent) }

    func set() { flag.store(true, ordering: .sequentiallyConsistent) }
}

/// A list of entries in order, from any threads.
final class Log<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])

    var entries: [Element] { list.withLock { $0 } }
    var count: Int { list.withLock { $0.count } }

    func append(_ element: Element) { list.withLock { $0.append(element) } }
}

/// A place whose content several threads exchange. The caller releases the content that it takes
/// out, under no lock.
final class Slot<Content: Sendable>: Sendable {
    private let content: Mutex<Content?>

    init(_ content: Content? = nil) { self.content = Mutex(content) }

    var value: Content? { content.withLock { $0 } }

    func put(_ new: Content) { _ = exchange(new) }
    @discardableResult
    func take() -> Content? { exchange(nil) }
    func clear() { _ = exchange(nil) }

    private func exchange(_ new: Content?) -> Content? {
        content.withLock { current in
            let old = current
            current = new
            return old
        }
    }
}
