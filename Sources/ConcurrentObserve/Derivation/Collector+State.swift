// SPDX-License-Identifier: Apache-2.0

extension Collector {
    /// With what an evaluation begins, and what it results in.
    @usableFromInline
    internal struct Outcome: BitwiseCopyable {
        /// Whether there was an evaluation before, and its result.
        @usableFromInline var hasBefore = false
        @usableFromInline var before = Latch.Words()

        /// Whether the function is to read alone.
        @usableFromInline var isListing = false
        /// Whether the function is to call `Collector.weaken`, and nothing else.
        @usableFromInline var isWeakening = false
        /// Whether the function retains what it reads directly.
        @usableFromInline var retains = false
        /// Whether the function has run on a snapshot that was complete before: what came later does not concern it.
        @usableFromInline var isSnapshot = false
        /// Whether the function runs on copies.
        @usableFromInline var isOnCopies = false

        /// The result, in words; and whether it equals the one before, so that these are the words of the earlier one.
        @usableFromInline var result = Latch.Words()
        @usableFromInline var isSame = false
        /// Whether the result is bits alone.
        @usableFromInline var isInline = false
        /// The number of the function's run. Another one between two evaluations.
        @usableFromInline var run = 0

        @inlinable
        init() {}

        /// Whether what is read may be that of the evaluation before.
        var mayFollow: Bool { !isListing && !isOnCopies }
    }

    /// What an evaluation has collected so far.
    internal struct State: ~Copyable {
        /// Of which derived value it is. Compared, not followed.
        var derived: UInt = 0
        var place = DerivationPlace.none
        /// The number of an evaluation of a value that has the same hash. See `EvaluationStack`.
        var before: UInt32 = 0
        /// The place of the evaluation on the thread's stack.
        var level = 0
        /// Whether a function that reads with its reader has begun the evaluation: it can take a result that is not published.
        var hasReader = false
        /// How the evaluation takes part in a ring that is reported; nil if it does not.
        var ring: RingPart?

        /// The evaluation with which this one began.
        var base: SourceWords?
        var baseSequence: UInt64 = 0
        /// The set that is followed; nil once something else was read.
        var followed: SourceWords?
        /// How many steps it has; and these, if they are not simply its roots in order.
        var stepCount = 0
        var steps: StepWords?
        /// What was read, while that is not the set's.
        var collected = Collected()
        /// How many steps of the set have been read, and how many of its roots and derived values.
        var cursor = 0
        var seen = 0
        var seenNodes = 0
        /// Where each root of the set is, if the function has read one of many again.
        var places: [UInt: Int] = [:]
        /// The versions of these.
        var versions = VersionBuffer()
        var nodeVersions = VersionBuffer()
        /// Those of a derived value that is read.
        var childVersions = VersionBuffer()

        /// How a function waits whose sources keep changing while it reads.
        var wait = Backoff()
        /// Whether one root was read at two versions.
        var isTorn = false
        /// What the function reads in place of its sources; nil while they do not change faster than it runs.
        var copies: SourceCopies?
        /// How often the sources have changed while it read or ran.
        var failures = 0
        /// Looks out for the thread's own changes of what it has read; nil while that is not suspected.
        var watch: SelfWatch?
        /// What `weaken` has received.
        var weakFunction: WeakFunction?

        init() {}
    }
}
