// SPDX-License-Identifier: Apache-2.0

import Synchronization

// What properties are compared with: a value in the standard library's mutex, in a `let` of a class. One class per type, not a
// generic one: the compiler then knows everything about the layout.

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

/// A value with a reference count.
final class Object: Sendable {}
