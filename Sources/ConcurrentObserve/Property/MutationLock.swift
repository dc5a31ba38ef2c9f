// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// The lock under which the changes of one property are made, one after the other. (P2, P5)
///
/// The library holds it for a few instructions. A thread also holds it while it runs the body of a
/// `modify` or of a commit. No other user code runs under a lock of the library. Registrations and
/// ends of observations use another lock, `RegistryCore.lock`, so that observations can end at any
/// time.
///
/// The latch's word `owner` says which thread runs a body. The functions receive it as `modifier`.
/// After its body, a commit uses the same word to say which thread has prepared the next version:
/// see `Latch.owner`. Each property therefore needs only one word for both.
@usableFromInline
internal struct MutationLock: ~Copyable, Sendable {
    let lock = Lock()

    /// Held by a thread that registers an observer, or takes a snapshot, while a body runs. The
    /// thread of the body publishes only when this lock is free.
    let bodyLock = Lock()

    /// The purpose for which a thread takes the lock, or holds off publication.
    @usableFromInline
    enum Purpose { case set, modify, observe }

    init() {}

    /// The address of `lock`, which identifies the property. Only `RunningBody` reads memory at
    /// this address.
    var address: UInt {
        // Safe: an address only; atomics are never copied to be lent.
        unsafe withUnsafePointer(to: lock) { UInt(bitPattern: $0) }
    }
}

// MARK: - Changes

extension MutationLock {
    /// Takes the lock for a change. Waits while another thread runs the body of a `modify` or a
    /// commit of this property. Traps if the calling thread runs the body of any `modify` or
    /// commit.
    @usableFromInline
    borrowing func acquire(_ modifier: borrowing Atomic<UInt>) {
        if ThreadRecord.isInsideBody { trapInsideAnyBody(.set, modifier) }
        acquireAnywhere()
    }

    /// Takes the lock for a change of a property that only the library uses, also inside a body. No
    /// body changes such a property, and a thread that holds its lock waits for no other thread.
    @usableFromInline
    borrowing func acquireAnywhere() {
        lock.lock()
    }

    /// Releases the lock, whether or not a change was made.
    @usableFromInline
    borrowing func release() {
        lock.unlock()
    }

    /// Takes the lock for the body of a `modify`, and marks the thread as inside a callback.
    @usableFromInline
    borrowing func acquireForBody(_ modifier: borrowing Atomic<UInt>) {
        // Safe: records are never freed.
        let record = unsafe ThreadRecord.current
        if unsafe record.pointee.isInsideBody { trapInsideAnyBody(.modify, modifier) }
        lock.lock()
        unsafe record.pointee.userCode += 1
        unsafe record.pointee.body = address
        unsafe setModifier(record, modifier)
    }

    /// Takes the lock for the body of a commit. The commit itself marks its thread as inside a
    /// callback.
    borrowing func acquireForCommit(_ record: UnsafeMutablePointer<ThreadRecord>, _ modifier: borrowing Atomic<UInt>) {
        lock.lock()
        unsafe setModifier(record, modifier)
    }

    /// Records that the body of a commit has ended. The caller still holds the lock.
    borrowing func leaveCommitsBody(_ modifier: borrowing Atomic<UInt>) {
        clearModifier(modifier)
    }

    private borrowing func setModifier(_ record: UnsafeMutablePointer<ThreadRecord>, _ modifier: borrowing Atomic<UInt>)
    {
        // Release: pairs with the acquire in tryHold(_:), whose caller then sees all earlier
        // changes.
        modifier.store(UInt(bitPattern: record), ordering: .releasing)
    }

    /// Records that the body of a `modify` has ended. The caller still holds the lock.
    @usableFromInline
    borrowing func leaveBody(_ modifier: borrowing Atomic<UInt>) {
        // Safe: records are never freed.
        let record = unsafe ThreadRecord.current
        unsafe record.pointee.userCode -= 1
        unsafe record.pointee.body = 0
        clearModifier(modifier)
    }

    /// Clears `modifier`, and waits for a registration that holds `bodyLock`. Either this thread
    /// sees that the lock is held, or the registration sees that the body has ended: this thread
    /// executes the light barrier, and the registration the heavy barrier.
    private borrowing func clearModifier(_ modifier: borrowing Atomic<UInt>) {
        // Relaxed: the barrier orders it before the load of `bodyLock`; pairs with heavy() in
        // tryHold(_:).
        modifier.store(0, ordering: .relaxed)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        if bodyLock.isHeld { clearModifierLocked(modifier) }
    }

    /// Waits for the registrations that began while the body ran. Until they have ended, the body
    /// counts as running: a registration that loads `modifier` in this time holds off publication,
    /// too, and need not try again.
    @inline(never)
    private borrowing func clearModifierLocked(_ modifier: borrowing Atomic<UInt>) {
        // Safe: records are never freed.
        unsafe setModifier(ThreadRecord.current, modifier)
        // Relaxed: `bodyLock` orders this store for a registration that takes `bodyLock` later. The
        // caller still holds `lock`, and publishes nothing before this store.
        bodyLock.withLock { modifier.store(0, ordering: .relaxed) }
    }
}

// MARK: - Registrations

extension MutationLock {
    /// Runs `body`, which registers an observer, while no thread publishes a change. Returns the
    /// result of `body`. Waits for the few instructions of other holders, never for the body of a
    /// `modify`, whose thread publishes nothing while `bodyLock` is held.
    @inline(__always)
    borrowing func withPublicationHeld<Result>(_ modifier: borrowing Atomic<UInt>, _ body: () -> Result) -> Result {
        var wait = Backoff()
        while true {
            if let hold = tryHold(modifier) {
                defer { release(hold) }
                return body()
            }
            wait.pause()
        }
    }

    /// Holds off publication, and never waits. Returns the lock that it has taken; nil if another
    /// thread holds that lock.
    borrowing func tryHold(_ modifier: borrowing Atomic<UInt>) -> Hold? {
        if lock.tryLock() {
            return .lock
        }
        // Relaxed: a hint; the load below decides.
        guard Latch.isModifier(modifier.load(ordering: .relaxed)), bodyLock.tryLock() else { return nil }
        // Each registration executes its own barrier: since the last barrier, a body may have
        // ended, and its thread may have found `bodyLock` free. Pairs with light(fenced:) in
        // clearModifier().
        AsymmetricBarrier.heavy()
        // Not 0: the thread that runs the body loads `bodyLock` after the barrier, and waits.
        // Acquire: pairs with the release in setModifier(_:). `bodyLock` does not order this: the
        // thread has stored the word under `lock` only. Without the acquire, the caller could load
        // an earlier version than the one published last before that store.
        if Latch.isModifier(modifier.load(ordering: .acquiring)) { return .bodyLock }
        release(.bodyLock)
        return nil
    }

    borrowing func release(_ hold: Hold) {
        switch hold {
        case .lock: lock.unlock()
        case .bodyLock: bodyLock.unlock()
        }
    }

    /// The lock that holds off publication: `lock`, or `bodyLock` while a body runs.
    enum Hold { case lock, bodyLock }
}

// MARK: - Misuse

extension MutationLock {
    /// Traps in the body of a `modify` or of a commit: the thread would wait for itself, or for
    /// another thread whose body may wait for this one. (P5, P19)
    @inline(never)
    private borrowing func trapInsideAnyBody(_ purpose: Purpose, _ modifier: borrowing Atomic<UInt>) {
        trapInsideBody(purpose, modifier)
        fatalError(
            "ConcurrentObserve: a property was changed inside the body of a modify or a commit that does not include it. Change it before or after, or commit a group of which it is a member: \(RunningBody.name(ofLockAt: address)) was changed inside \(RunningBody.current)."
        )
    }

    /// Traps if the calling thread is in the body of a `modify` of this property, or of a commit
    /// that includes it. (P5)
    @usableFromInline
    borrowing func trapInsideBody(_ purpose: Purpose, _ modifier: borrowing Atomic<UInt>) {
        // Safe: the address is compared, not followed. Relaxed: the word is this thread's record
        // only if this thread has stored it.
        guard unsafe modifier.load(ordering: .relaxed) == UInt(bitPattern: ThreadRecord.current) else { return }
        switch purpose {
        case .set:
            fatalError(
                "ConcurrentObserve: a property was set inside the body of its own modify or commit. Assign to the body's parameter instead, or set it after the call has returned."
            )
        case .modify:
            fatalError(
                "ConcurrentObserve: modify or commit was called inside the body of a modify or a commit of the same property. Make all changes to the outer body's parameter."
            )
        case .observe:
            fatalError(
                "ConcurrentObserve: a property was observed inside the body of its own modify or commit. Call observe before or after it."
            )
        }
    }
}
