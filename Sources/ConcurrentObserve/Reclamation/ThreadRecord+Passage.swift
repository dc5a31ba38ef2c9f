// SPDX-License-Identifier: Apache-2.0

extension ThreadRecord {
    /// What the calling thread is passing on at the moment: the innermost `withPassage`'s.
    static var passage: AnyObject? {
        // Safe: records are never freed; `withPassage` keeps the object for as long as it stands there.
        unsafe current.pointee.passage?.takeUnretainedValue()
    }

    /// Where the calling thread puts off what it has to tell, if it does: the innermost `withDeferral`'s.
    static var deferral: AnyObject? {
        // Safe: records are never freed; `withDeferral` keeps the object for as long as it stands there.
        unsafe current.pointee.deferral?.takeUnretainedValue()
    }

    /// Runs `body` with `deferral` as where the calling thread puts off what it has to tell.
    @inline(never)
    static func withDeferral(_ deferral: AnyObject, _ body: () -> Void) {
        // Safe: records are never freed; the object is kept until it is taken away again.
        let record = unsafe current
        let outer = unsafe record.pointee.deferral
        unsafe record.pointee.deferral = Unmanaged.passUnretained(deferral)
        body()
        unsafe record.pointee.deferral = outer
        withExtendedLifetime(deferral) {}
    }

    /// Runs `body` with `passage` as what the calling thread is passing on.
    ///
    /// The record borrows the object: the child of a fork forgets those of threads that it does not have, and releases nothing.
    @inline(never)
    static func withPassage(_ passage: AnyObject, _ body: () -> Void) {
        // Safe: records are never freed; the object is kept until it is taken away again.
        let record = unsafe current
        let outer = unsafe record.pointee.passage
        unsafe record.pointee.passage = Unmanaged.passUnretained(passage)
        body()
        unsafe record.pointee.passage = outer
        withExtendedLifetime(passage) {}
    }
}
