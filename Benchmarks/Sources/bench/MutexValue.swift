// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization

// Properties are compared with these classes. Each has a `let` with a value in the standard
// library's mutex. There is a class for each type, and not a generic class, so that the compiler
// knows the whole layout.

final class MutexInt: Sendable {
    let value: Mutex<Int>

    init(_ value: Int) { self.value = Mutex(value) }
}

final class MutexString: Sendable {
    let value: Mutex<String>

    init(_ value: String) { self.value = Mutex(value) }
}

final class MutexObject: Sendable {
    let value: Mutex<Object>

    init(_ value: Object) { self.value = Mutex(value) }
}

final class MutexArray: Sendable {
    let value: Mutex<[Int]>

    init(_ value: [Int]) { self.value = Mutex(value) }
}

final class MutexDictionary: Sendable {
    let value: Mutex<[Int: Int]>

    init(_ value: [Int: Int]) { self.value = Mutex(value) }
}

final class MutexWords: Sendable {
    let value: Mutex<Words>

    init(_ value: Words) { self.value = Mutex(value) }
}

final class MutexLimits: Sendable {
    let value: Mutex<Limits>

    init(_ value: Limits) { self.value = Mutex(value) }
}

/// An object that stores one value after the other.
protocol Guarding: AnyObject, Sendable {
    associatedtype Value: Sendable

    init(_ value: Value)
    func store(_ value: Value)
}

extension MutexString: Guarding {
    @inline(__always) func store(_ value: String) { self.value.withLock { $0 = value } }
}

extension MutexObject: Guarding {
    @inline(__always) func store(_ value: Object) { self.value.withLock { $0 = value } }
}

extension MutexArray: Guarding {
    @inline(__always) func store(_ value: [Int]) { self.value.withLock { $0 = value } }
}

extension MutexDictionary: Guarding {
    @inline(__always) func store(_ value: [Int: Int]) { self.value.withLock { $0 = value } }
}

extension MutexWords: Guarding {
    @inline(__always) func store(_ value: Words) { self.value.withLock { $0 = value } }
}

extension MutexLimits: Guarding {
    @inline(__always) func store(_ value: Limits) { self.value.withLock { $0 = value } }
}

/// A struct whose destruction may run user code, as far as the library knows.
struct Limits: Sendable {
    let name: String
    let perMinute: Int
}

/// A value with a deinitialiser.
final class Object: Sendable {
    private let number: Int

    init(_ number: Int) { self.number = number }
    deinit { if number < 0 { print("an object of a negative number has died") } }
}

/// Plain bits that are too large for a property itself.
struct Words: Sendable {
    let first: Int
    let others = (0, 0, 0, 0)
}
