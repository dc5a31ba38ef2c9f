// SPDX-License-Identifier: Apache-2.0

extension ThreadRecord {
    /// What the calling thread is passing on at the moment: the innermost `withPassage`'s.
    static var passage: AnyObject? {
        // Safe: records are never freed; `withPassage` keeps the object for as long as it stands
        // there.
        unsafe current.pointee.passage?.takeUnretainedValue()
    }

    /// Where the calling thread collects what it has to tell later, if it does: the innermost
    /// `withDeferral`'s.
    static var deferral: AnyObject? {
        // Safe: records are never freed; `withDeferral` keeps the object for as long as it stands
        // there.
        unsafe current.pointee.deferral?.takeUnretainedValue()
    }

    /// Runs `body` while the calling thread collects in `deferral` what it has to tell later.
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

    /// Runs `body` while the calling thread is passing `passage` on.
    ///
    /// The record borrows the object: the child of a fork forgets the objects of threads that do
    /// not exist there, and releases nothing.
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
