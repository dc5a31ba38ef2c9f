// SPDX-License-Identifier: Apache-2.0

extension Collector {
    /// The input and the result of an evaluation.
    @usableFromInline
    internal struct Outcome: BitwiseCopyable {
        /// Whether there is a previous result to compare with, and its words.
        @usableFromInline var hasBefore = false
        @usableFromInline var before = Latch.Words()

        /// Whether the function must only read, so that its roots can be listed.
        @usableFromInline var isListing = false
        /// Whether the function must only call `Collector.weaken`.
        @usableFromInline var isWeakening = false
        /// Whether the function retains the properties that it reads directly.
        @usableFromInline var retains = false
        /// Whether the function computes from a snapshot that was checked before. Later changes of
        /// the sources do not matter then.
        @usableFromInline var isSnapshot = false
        /// Whether the function reads copies of its sources.
        @usableFromInline var isOnCopies = false

        /// The words of the result. If `isSame`, the result equals the previous one, and the
        /// previous words are kept instead.
        @usableFromInline var result = Latch.Words()
        @usableFromInline var isSame = false
        /// Whether the words of every result reference nothing.
        @usableFromInline var isInline = false
        /// Incremented before every run and after every evaluation, so that a `Followed` kept too
        /// long is detected.
        @usableFromInline var run = 0

        @inlinable
        init() {}

        /// Whether the evaluation may follow the set of the previous one.
        var mayFollow: Bool { !isListing && !isOnCopies }
    }

    /// The reads and the progress of an evaluation.
    internal struct State: ~Copyable {
        /// The address of the derived value. Compared, not followed.
        var derived: UInt = 0
        var place = DerivationPlace.none
        /// The number of the next evaluation below on the stack whose derived value has the same
        /// hash, or 0. See `EvaluationStack`.
        var before: UInt32 = 0
        /// The index of the evaluation on the thread's stack.
        var level = 0
        /// Whether another function reads the derived value with its reader. That function can take
        /// a result that is not published.
        var hasReader = false
        /// The evaluation's part in a reported ring; nil if it has none.
        var ring: RingPart?

        /// The set and the sequence of the previous evaluation; `base` is nil if there is none.
        var base: SourceWords?
        var baseSequence: UInt64 = 0
        /// The set of the previous evaluation, as long as this one reads the same sources in the
        /// same order. Nil otherwise.
        var followed: SourceWords?
        /// The number of steps of the followed set, and the steps. `steps` is nil if they are its
        /// roots, in order.
        var stepCount = 0
        var steps: StepWords?
        /// The roots and other sources that were read, if no set is followed.
        var collected = Collected()
        /// How many steps of the followed set were read, and how many of its roots and derived
        /// values.
        var cursor = 0
        var seen = 0
        var seenNodes = 0
        /// The index of each root of the followed set, by its address. Filled at the first search
        /// among many roots.
        var places: [UInt: Int] = [:]
        /// The versions that were read of the roots and of the derived values, by index.
        var versions = VersionBuffer()
        var nodeVersions = VersionBuffer()
        /// The versions of the roots of a derived value that is being read.
        var childVersions = VersionBuffer()

        /// The pauses of a function whose sources keep changing while it reads.
        var wait = Backoff()
        /// Whether one root was read at two versions.
        var isTorn = false
        /// The copies that the function reads instead of its sources; nil if it reads the sources.
        var copies: SourceCopies?
        /// How often a source has changed while the function read or ran. Failures of evaluations
        /// inside this one count, too.
        var failures = 0
        /// Watches for changes of these sources by the evaluating thread; nil unless such changes
        /// are suspected.
        var watch: SelfWatch?
        /// The function that `weaken` has stored.
        var weakFunction: WeakFunction?

        init() {}
    }
}
