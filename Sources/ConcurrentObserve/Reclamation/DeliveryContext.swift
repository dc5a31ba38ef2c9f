// SPDX-License-Identifier: Apache-2.0

/// What a thread delivers a change in the course of, as the room above knows it, which says what
/// that is by a subclass. Everything that runs on the thread meanwhile can ask for it.
@usableFromInline
internal class DeliveryContext: @unchecked Sendable {
    // Unchecked: subclasses say who has what.
    init() {}

    /// That of the calling thread: the innermost whose `perform` has not returned.
    static var current: DeliveryContext? {
        // Safe: records are never freed; `perform` keeps the object for as long as it stands there.
        unsafe ThreadRecord.current.pointee.context?.takeUnretainedValue()
    }

    /// Runs `body` with this as the calling thread's context.
    ///
    /// The record borrows the object: the child of a fork forgets the contexts of threads that do
    /// not exist there, and releases nothing.
    @usableFromInline @inline(never)
    final func perform(_ body: () -> Void) {
        // Safe: records are never freed; the caller keeps the object until this returns.
        let record = unsafe ThreadRecord.current
        let outer = unsafe record.pointee.context
        unsafe record.pointee.context = Unmanaged.passUnretained(self)
        body()
        unsafe record.pointee.context = outer
    }
}
