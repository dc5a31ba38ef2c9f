// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import CURCU
import Synchronization

/// The controls of the instrumented build: which seeded bug is on, and what happens at the injection points.
///
/// Set everything before the threads under test start; nothing here is synchronised with them beyond that.
public enum Instrumentation {
    /// What a thread does at an injection point. Called with the point's name, on the thread that reached it.
    public typealias Perturbation = @Sendable (_ point: String) -> Void

    /// The injection points, in the order in which the protocol reaches them.
    public static let points = [
        "walk.head", "walk.pinned", "walk.count", "walk.entry", "walk.marked", "walk.current", "walk.called",
        "walk.cleared",
        "append.entry", "append.publish", "grow.copied", "grow.published",
        "end.locked", "end.unlinked", "end.retire",
        "wait.barrier", "wait.scan", "wait.destroy",
        "reclaim.taken", "reclaim.barrier", "reclaim.scan", "reclaim.free",
        "destroy.item", "record.exit",
    ]

    /// The seeded bug that is on, if any. Written once, before any other thread runs.
    nonisolated(unsafe) public static var mutant: String?

    /// Called at every injection point, if any. Written while no thread under test runs.
    nonisolated(unsafe) public static var perturbation: Perturbation?

    /// How many locks and read sections of the library the calling thread is inside of: 0 in all user code. (P5)
    public static var forbiddenDepth: Int { unsafe ThreadRecord.current.pointee.forbidden }

    /// Thread records in existence, in use or waiting for a new thread. (P17)
    public static var threadRecords: Int { ThreadRecord.count }
}

@inline(never) @usableFromInline
internal func inject(_ point: StaticString) {
    guard let perturbation = unsafe Instrumentation.perturbation else { return }
    perturbation(point.description)
}

@inline(never) @usableFromInline
internal func mutant(_ name: StaticString) -> Bool {
    guard let active = unsafe Instrumentation.mutant else { return false }
    return active == name.description
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
#endif
