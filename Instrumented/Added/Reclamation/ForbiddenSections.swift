// SPDX-License-Identifier: Apache-2.0

// How `stress` proves that no user code runs under a lock or in a read section of the library (P5):
// the instrumented build counts them, for each thread. The library that users build does not.

extension Instrumentation {
    /// How many locks and read sections of the library the calling thread is inside of: 0 in all
    /// user code. (P5)
    public static var forbiddenDepth: Int { unsafe Int(ThreadRecord.current.pointee.forbidden) }

    /// Thread records in existence, in use or waiting for a new thread. (P17)
    public static var threadRecords: Int { ThreadRecord.count }

    /// Frames that a scan would look at now. (P9)
    public static var framesInUse: Int {
        var count = 0
        unsafe ThreadRecords.shared.forEach { record in unsafe record.forEachFrame { _ in count += 1 } }
        return count
    }
}

@usableFromInline
internal func enterForbiddenForUserCode() {
    // Safe: a thread's record outlives the thread.
    unsafe ThreadRecord.current.pointee.forbidden += 1
}

@usableFromInline
internal func leaveForbiddenForUserCode() {
    // Safe: a thread's record outlives the thread.
    unsafe ThreadRecord.current.pointee.forbidden -= 1
}
