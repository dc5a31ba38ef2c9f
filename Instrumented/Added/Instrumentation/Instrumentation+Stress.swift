// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The controls of the instrumented build: which seeded bug is on, and what happens at the
/// injection points.
///
/// Set everything before the threads under test start; nothing here is synchronised with them
/// beyond that.
public enum Instrumentation {
    /// Delays a thread at an injection point. Called with the point's name, on the thread that
    /// reached it.
    public typealias Perturbation = @Sendable (_ point: StaticString) -> Void

    /// The injection points, in the order in which the protocol reaches them.
    public static let points: [StaticString] = [
        "walk.head", "walk.pinned", "walk.count", "walk.entry", "walk.marked", "walk.current", "walk.called",
        "walk.cleared",
        "append.entry", "append.publish", "grow.copied", "grow.published",
        "end.locked", "end.unlinked", "end.retire", "retire.counted",
        "wait.barrier", "wait.scan", "wait.destroy",
        "reclaim.taken", "reclaim.barrier", "reclaim.scan", "reclaim.free",
        "destroy.item", "finish.mark", "record.exit", "barrier.heavy",
        "read.word", "read.committer", "read.copied", "read.loaded", "read.pinned", "lend.loaded", "publish.word",
        "magazine.head", "magazine.filled", "magazine.copied", "magazine.barrier", "ring.filled", "reference.release",
        "boxes.take",
        "set.locked", "set.published", "modify.body", "modify.ending", "compare.equal",
        "commit.traced", "commit.body", "commit.prepared", "commit.decided", "commit.settled",
        "path.enter", "path.relink", "path.cut",
        "register.since", "observer.home", "initial.sampled", "initial.published", "visit.current", "visit.marked",
        "weak.watched", "weak.died", "weak.found", "weak.read",
        "bind.passing", "bind.published",
        "mailbox.enqueue", "mailbox.woken", "mailbox.taken", "mailbox.job",
        "sequence.wait",
        "derived.enter", "derived.look", "derived.store", "derived.read", "derived.evaluated", "derived.collected",
        "derived.link", "derived.deliver", "derived.copies",
    ]

    /// The seeded bug that is on, if any. Written once, before any other thread runs.
    nonisolated(unsafe) public static var mutant: SeededBug?

    /// Called at every injection point, if any. Written once, before any other thread runs.
    nonisolated(unsafe) public static var perturbation: Perturbation?

    /// Called where a snapshot holds off publication, on the thread that takes it, if set. Written
    /// once, before any other thread runs.
    nonisolated(unsafe) public static var snapshotIsHeld: (@Sendable () -> Void)?

    /// Asked wherever the library would start a thread, if set: true if it must not get one.
    /// Written once, before any other thread runs.
    nonisolated(unsafe) public static var refusesThread: (@Sendable () -> Bool)?

    /// Asked wherever the library calls membarrier, or registers the process for it, if set: the
    /// error number, or 0. Written once, before any other thread runs.
    nonisolated(unsafe) public static var barrierFault: (@Sendable (_ isRegistration: Bool) -> Int32)?

    /// After how many failures the function of a derived value runs on copies, if not after as many
    /// as usual. Written while no thread under test runs.
    nonisolated(unsafe) public static var failuresBeforeCopies: Int?

    /// How many freed tables are kept, poisoned, so that a walker which still uses one is caught,
    /// not crashed. 0 under AddressSanitizer, which sees the use itself. Written while no thread
    /// under test runs.
    nonisolated(unsafe) public static var quarantineLength = 512
}

extension StaticString {
    /// Whether two names are the same. Allocates nothing.
    public func isSame(as other: StaticString) -> Bool {
        // Safe: both live as long as the program.
        unsafe utf8Start == other.utf8Start
            || (utf8CodeUnitCount == other.utf8CodeUnitCount
                && memcmp(utf8Start, other.utf8Start, utf8CodeUnitCount) == 0)
    }
}

@inline(never) @usableFromInline
internal func inject(_ point: StaticString) {
    if exploredStep(point) { return }
    guard let perturbation = unsafe Instrumentation.perturbation else { return }
    perturbation(point)
}

/// A decision point where the explorer's program allows faults, and nothing in its others: it would
/// multiply their schedules.
@inline(never)
internal func faultPoint(_ point: StaticString) {
    if let exploration = unsafe Instrumentation.exploration, exploration.faultPoint(point) { return }
    guard let perturbation = unsafe Instrumentation.perturbation else { return }
    perturbation(point)
}

internal func noteHeldSnapshot() { unsafe Instrumentation.snapshotIsHeld?() }

internal func failuresBeforeCopies(_ usual: Int) -> Int { unsafe Instrumentation.failuresBeforeCopies ?? usual }

internal func isThreadRefused() -> Bool {
    if let exploration = unsafe Instrumentation.exploration { return exploration.refusesThread() }
    return unsafe Instrumentation.refusesThread?() ?? false
}

internal func barrierFault(isRegistration: Bool) -> Int32 {
    unsafe Instrumentation.barrierFault?(isRegistration) ?? 0
}

@inline(never) @usableFromInline
internal func mutant(_ bug: SeededBug) -> Bool { unsafe Instrumentation.mutant == bug }
