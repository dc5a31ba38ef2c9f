// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObservePlatform

extension ThreadRecord {
    /// The calling thread's record. On its first use of the library, the thread takes over a free
    /// record, or allocates one.
    @inlinable @inline(__always)
    static var current: UnsafeMutablePointer<ThreadRecord> {
        if let record = unsafe own { return unsafe record }
        return unsafe attach()
    }

    /// The calling thread's record; nil if it has none.
    @inlinable @inline(__always)
    static var own: UnsafeMutablePointer<ThreadRecord>? {
        // Safe: only `attach` stores into the variable, and records are never freed.
        unsafe CurrentThread.record?.assumingMemoryBound(to: ThreadRecord.self)
    }

    /// The address of the calling thread's record, or 0 if it has none. Does not create one.
    static var ownAddress: UInt {
        // Safe: an address only.
        unsafe UInt(bitPattern: own)
    }

    /// Whether the calling thread is inside a callback, as the article Contract defines it: a pass,
    /// or other user code that the library has called, is on its stack.
    static var isInsideCallback: Bool {
        // Safe: records are never freed.
        guard let record = unsafe own else { return false }
        return unsafe record.isInsideCallback
    }

    /// Whether the calling thread runs the body of a `modify` or of a commit.
    @inline(__always)
    static var isInsideBody: Bool {
        // Safe: records are never freed.
        guard let record = unsafe own else { return false }
        return unsafe record.pointee.isInsideBody
    }

    /// Whether this thread runs the body of a `modify` or of a commit. Only the owner may read it.
    @inline(__always)
    var isInsideBody: Bool { body != 0 }

    /// Calls `body`, which runs user code, and marks the thread as inside a callback during the
    /// call.
    @inlinable
    static func withUserCode<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        // Safe: records are never freed.
        let record = unsafe current
        unsafe record.pointee.userCode += 1
        defer { unsafe record.pointee.userCode -= 1 }
        return try body()
    }

    /// Gives the calling thread a record, a free one or a new one, and makes the thread release the
    /// record when it exits. Returns the record.
    @usableFromInline @inline(never) @discardableResult
    static func attach() -> UnsafeMutablePointer<ThreadRecord> {
        Fork.noteUse()
        // In the child of a fork, the lock of the list or liburcu's lock may be held forever, by a
        // thread that exists only in the parent. No thread of the child needs the list.
        if Fork.isInChild { return unsafe keep(own ?? ThreadRecord.allocate()) }
        CurrentThread.trapWithoutSystem()
        let record = unsafe own ?? ThreadRecords.shared.acquire()
        // Safe: this is the only call of `callAtExit`, so the hook receives a record; records are
        // never freed.
        unsafe CurrentThread.callAtExit(with: record) { record in
            if Fork.isInChild { return }
            unsafe ThreadRecords.shared.release(record.assumingMemoryBound(to: ThreadRecord.self))
        }
        return unsafe keep(record)
    }

    private static func keep(_ record: UnsafeMutablePointer<ThreadRecord>) -> UnsafeMutablePointer<ThreadRecord> {
        unsafe CurrentThread.record = UnsafeMutableRawPointer(record)
        return unsafe record
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Whether a pass, or other user code that the library has called, is on the thread's stack.
    /// Only the owner may read it.
    fileprivate var isInsideCallback: Bool {
        // Safe: records are never freed. Relaxed: only the owner writes it.
        unsafe pointee.depth.load(ordering: .relaxed) > 0 || pointee.userCode > 0
    }

    /// Traps if the thread exits inside a callback. Otherwise the next thread would take over
    /// frames that are still in use.
    func trapIfInsideCallback() {
        guard unsafe isInsideCallback else { return }
        fatalError(
            """
            ConcurrentObserve: a thread has ended inside a callback: by pthread_exit or pthread_cancel in it, or after a longjmp out \
            of it. What the library was doing around the callback is never finished. Return from the callback, then end the thread.
            """
        )
    }
}
