// SPDX-License-Identifier: Apache-2.0

/// An observer's closure, in memory that a notification borrows: calling it counts no reference. (P15)
@usableFromInline
internal struct Callback<Event>: ~Copyable {
    @usableFromInline let body: @Sendable (Event) -> Void

    @inlinable @inline(__always)
    init(_ body: @escaping @Sendable (Event) -> Void) { self.body = body }

    @inlinable @inline(__always)
    borrowing func callAsFunction(_ event: Event) { body(event) }
}

/// Room for a `Callback` of any event: every closure is a code pointer and a context, whatever its parameters.
@usableFromInline
internal struct CallbackStorage {
    private var code: UInt = 0
    private var context: UInt = 0

    @usableFromInline
    init() {}
}
