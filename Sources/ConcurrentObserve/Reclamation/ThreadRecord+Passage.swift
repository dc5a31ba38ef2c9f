// SPDX-License-Identifier: Apache-2.0

extension ThreadRecord {
    /// What the calling thread is passing on at the moment: the innermost `withPassage`'s.
    static var passage: AnyObject? {
        // Safe: records are never freed; `withPassage` keeps the object for as long as it stands
        // there.
        unsafe current.pointee.passage?.takeUnretainedValue()
    }

    /// Runs `body` with `passage` as what the calling thread is passing on.
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
