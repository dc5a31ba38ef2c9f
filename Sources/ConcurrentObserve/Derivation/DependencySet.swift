// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. An *other source* is one whose roots are not
// known: see `OtherDependency`. *Words* are 64-bit numbers in the memory of a set, which threads
// read one by one. The comment at the top of `Derived.swift` explains this folder.

public import Synchronization

/// Stores the sources that evaluations of one derived value read, in the order of the reads. Also
/// stores the last of these evaluations: its result, and the versions that it read.
///
/// The evaluation is stored under a sequence lock: a thread that finds the sequence even, and
/// unchanged after its reads, has read the words of one evaluation. One thread at a time replaces
/// the evaluation in place. The result stays right for its versions forever, so a reader that finds
/// these versions present need not look for a later set.
///
/// A new object for each evaluation would be simpler, but too slow. A change of a source must
/// allocate nothing (Scripts/check-counts.sh). A read that finds `k` roots unchanged may take only
/// as long as `1 + k` reads of a property (Scripts/bench.sh), and a pin would take longer.
@safe @usableFromInline
internal final class DependencySet: ManagedBuffer<DependencySet.Header, UInt64> {
    // Any thread may use a set: it has constants, `next` is stored before the set is published, and
    // the words are atomic.

    @usableFromInline
    struct Header {
        /// Weak references to the sources of the set, and the order in which they were read. Nil if
        /// there are only roots, and the function itself keeps them alive.
        let details: DependencyDetails?
        /// The kept set that the derived value added before this one; nil if this is the first kept
        /// set.
        var next: DependencySet?
    }

    /// The index of each word in the memory of a set.
    @usableFromInline
    enum Place {
        @usableFromInline static var sequence: Int { 0 }
        /// The number of roots (in the lower half of the word), the number of derived values (in
        /// the upper half), and the flags `othersMark`, `snapshotMark` and `ringMark` of
        /// `DependencyWords` (the three highest bits).
        @usableFromInline static var counts: Int { 1 }
        @usableFromInline static var first: Int { 2 }
        @usableFromInline static var second: Int { 3 }
        /// The version of the result. It grows only if the result differs.
        @usableFromInline static var version: Int { 4 }
        /// Two words for each root: the address of its version, and the version that was read. Then
        /// come the versions of the derived values, then those of other sources.
        @usableFromInline static var roots: Int { 5 }
    }

    /// Makes a set in which no evaluation is stored yet.
    ///
    /// - Parameters:
    ///   - addresses: The addresses of the roots' versions, in the order of the reads.
    ///   - details: References to the sources; nil if there are only roots, and the function itself
    ///     keeps them alive.
    ///   - isSnapshot: Whether the function reads all that it needs before it computes.
    static func make(_ addresses: [UInt], _ details: DependencyDetails?, isSnapshot: Bool) -> DependencySet {
        let (count, nodes, others) = (addresses.count, details?.nodes.count ?? 0, details?.others.count ?? 0)
        let size = Place.roots + 2 * count + nodes + others
        let buffer = DependencySet.create(minimumCapacity: size) { _ in Header(details: details, next: nil) }
        // Safe: `create` makes an object of the class that it is called on.
        let set = unsafe unsafeDowncast(buffer, to: DependencySet.self)
        let memory = unsafe set.words.memory
        // Safe: the capacity is at least `size`.
        unsafe memory.initialize(repeating: 0, count: size)
        unsafe memory[Place.sequence] = 1
        unsafe memory[Place.counts] =
            UInt64(count) | UInt64(nodes) << 32 | (others == 0 ? 0 : DependencyWords.othersMark)
            | (isSnapshot ? DependencyWords.snapshotMark : 0)
            | (details?.ringMembers.isEmpty ?? true ? 0 : DependencyWords.ringMark)
        for (index, address) in addresses.enumerated() { unsafe memory[Place.roots + 2 * index] = UInt64(address) }
        return set
    }

    /// The words, which live as long as the set.
    var words: DependencyWords { unsafe DependencyWords(withUnsafeMutablePointerToElements { unsafe $0 }) }

    var details: DependencyDetails? { header.details }

    /// Returns the present version of a root.
    ///
    /// - Parameter address: The address of the version in the root's memory.
    @inlinable @inline(__always)
    static func version(at address: UInt) -> UInt64 {
        // Safe: the function, or a `RootReference` of the caller's set, keeps the memory. The
        // version is the latch's first member.
        unsafe UnsafePointer<Latch>(bitPattern: address).unsafelyUnwrapped.pointee.presentVersion
    }

    /// Returns the word in which a root stores its version. A version that was read is still the
    /// present one if it equals this word. While a commit has prepared the next version, no version
    /// equals it.
    @inlinable @inline(__always)
    static func word(at address: UInt) -> UInt64 {
        // Safe: as above. Acquire: pairs with the releases in Latch.publish(_:), prepare(_:by:) and
        // settle().
        unsafe UnsafePointer<Atomic<UInt64>>(bitPattern: address).unsafelyUnwrapped.pointee.load(ordering: .acquiring)
    }
}

/// A pointer to the words of a `DependencySet`. A thread reads the words without counting a
/// reference.
///
/// The derived value or the caller must keep the set alive.
@safe @usableFromInline
internal struct DependencyWords: Equatable {
    @usableFromInline let memory: UnsafeMutablePointer<UInt64>

    @inlinable @inline(__always)
    init(_ memory: UnsafeMutablePointer<UInt64>) { unsafe self.memory = unsafe memory }

    /// The distance in bytes from the object to its words.
    static var distance: UInt { 32 }

    /// Represents no set. The caller must not read its words.
    static var none: DependencyWords { unsafe DependencyWords(UnsafeMutablePointer(bitPattern: 8).unsafelyUnwrapped) }

    @usableFromInline typealias Place = DependencySet.Place

    /// The object that contains these words. This struct does not retain it.
    var object: DependencySet { unsafe Self.object(at: UInt(bitPattern: memory)).takeUnretainedValue() }

    /// Returns the set whose words are at `address`.
    static func object(at address: UInt) -> Unmanaged<DependencySet> {
        // Safe: callers follow it while the set is kept or pinned.
        unsafe .fromOpaque(UnsafeRawPointer(bitPattern: address &- distance).unsafelyUnwrapped)
    }

    @inlinable var count: Int { Int(truncatingIfNeeded: unsafe memory[Place.counts] & 0xFFFF_FFFF) }
    var nodeCount: Int { Int(truncatingIfNeeded: unsafe memory[Place.counts] >> 32 & 0x1FFF_FFFF) }
    /// Whether the set has sources whose roots are not known.
    var hasOthers: Bool { unsafe memory[Place.counts] & Self.othersMark != 0 }
    /// Whether the function reads all that it needs before it computes.
    var isSnapshot: Bool { unsafe memory[Place.counts] & Self.snapshotMark != 0 }
    /// Whether an evaluation that reads the same sources in the same order may replace the one in
    /// this set.
    var isReusable: Bool { unsafe memory[Place.counts] & (Self.othersMark | Self.ringMark) == 0 }
    /// Whether the result was computed with the error of a ring: see
    /// `DependencyDetails.ringMembers`.
    var isOfRing: Bool { unsafe memory[Place.counts] & Self.ringMark != 0 }

    static var othersMark: UInt64 { 1 << 63 }
    static var snapshotMark: UInt64 { 1 << 62 }
    static var ringMark: UInt64 { 1 << 61 }

    func address(_ index: Int) -> UInt { UInt(unsafe memory[Place.roots + 2 * index]) }

    func origin(_ index: Int) -> Origin { object.details.map { .copied($0.roots[index]) } ?? .hidden }

    /// Returns the version of the root at `index` that the evaluation has read.
    func rootVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * index + 1) }
    func nodeVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * count + index) }
    func otherVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * count + nodeCount + index) }

    @usableFromInline
    static func == (left: DependencyWords, right: DependencyWords) -> Bool { unsafe left.memory == right.memory }
}

// MARK: - The evaluation

extension DependencyWords {
    /// Returns one of a set's words, for an atomic access.
    @inlinable @inline(__always)
    static func atomic(_ word: UnsafeMutablePointer<UInt64>) -> UnsafePointer<Atomic<UInt64>> {
        // Safe: the caller keeps the set; a word and an atomic word have the same layout.
        unsafe UnsafeRawPointer(word).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// Loads the word at `place`. The word belongs to the evaluation that the caller has found only
    /// if the sequence is the same afterwards.
    @inlinable @inline(__always)
    func word(_ place: Int) -> UInt64 {
        // Relaxed: the sequence and the fences order it.
        unsafe Self.atomic(memory + place).pointee.load(ordering: .relaxed)
    }

    /// The sequence. It is odd while an evaluation is being stored, and while there is none.
    @inlinable @inline(__always)
    var sequence: UInt64 {
        // Acquire: pairs with the release in store(_:).
        unsafe Self.atomic(memory + Place.sequence).pointee.load(ordering: .acquiring)
    }

    /// Whether the sequence is still `before`. If it is, all words that the caller has loaded since
    /// it loaded `before` belong to one evaluation. If the caller pinned the object that they
    /// reference before this call, that object is not retired.
    @inlinable @inline(__always)
    func isStill(_ before: UInt64) -> Bool {
        // Acquire: pairs with the fence in beginStoring(). If a loaded word belongs to a later
        // evaluation, the sequence below is later, too.
        atomicMemoryFence(ordering: .acquiring)
        // Relaxed: ordered by the fence, and after a pin by the light barrier. The thread that
        // retires the referenced object stores the next sequence first.
        return unsafe Self.atomic(memory + Place.sequence).pointee.load(ordering: .relaxed) == before
    }

    /// As `isStill(_:)`, without a fence. The caller must first pin the object that the words of
    /// the result reference.
    @inlinable @inline(__always)
    func isPinned(_ before: UInt64) -> Bool {
        // Relaxed: the light barrier of the pin orders it, as in ValueCell.isPinned(_:).
        unsafe Self.atomic(memory + Place.sequence).pointee.load(ordering: .relaxed) == before
    }

    /// Replaces the evaluation: `body` stores the words of the new one. Returns the new sequence.
    /// The caller must hold the derived value's lock.
    func store(_ body: (DependencyWords) -> Void) -> UInt64 {
        let odd = beginStoring()
        body(self)
        // Release: pairs with the acquire in `sequence`.
        unsafe Self.atomic(memory + Place.sequence).pointee.store(odd &+ 1, ordering: .releasing)
        return odd &+ 1
    }

    /// Marks the set as superseded: the present evaluation is in another set. The caller must hold
    /// the derived value's lock.
    func clear() { _ = beginStoring() }

    private func beginStoring() -> UInt64 {
        let sequence = unsafe Self.atomic(memory + Place.sequence)
        // Relaxed: the lock orders the changes.
        let odd = unsafe sequence.pointee.load(ordering: .relaxed) | 1
        unsafe sequence.pointee.store(odd, ordering: .relaxed)
        // Release: a reader that loads a word stored below finds the odd sequence, too; pairs with
        // the fence in isStill(_:).
        atomicMemoryFence(ordering: .releasing)
        return odd
    }

    /// Stores a word of the evaluation. The caller must be inside `store(_:)`.
    func setWord(_ place: Int, _ word: UInt64) {
        // Relaxed: ordered by the fence and the sequence.
        unsafe Self.atomic(memory + place).pointee.store(word, ordering: .relaxed)
    }
}

/// A copy of an evaluation's words, which `DerivationNode.load()` makes from the set. The
/// evaluation is, or was, the present one of a derived value. A `Present` can also have an
/// unpublished result, or represent no evaluation. The caller retains the derived value.
@safe internal struct Present: ~Copyable {
    let set: DependencyWords
    /// The set's sequence after the evaluation was stored. It is odd if this stands for no
    /// evaluation, and 0 for an unpublished result.
    let sequence: UInt64
    /// The version of the result. It grows only if the result differs. The highest number for an
    /// unpublished result.
    let version: UInt64
    /// The result. The words do not retain the object that they reference.
    let words: Latch.Words
    /// A reference to the set, if the derived value does not keep it, or to the unpublished result.
    /// Nil otherwise: then no reference is counted.
    private let owner: Unmanaged<AnyObject>?

    init(set: DependencyWords, sequence: UInt64, version: UInt64, words: Latch.Words, owner: AnyObject? = nil) {
        (self.set, self.sequence) = (set, sequence)
        (self.version, self.words) = (version, words)
        unsafe self.owner = owner.map { unsafe .passRetained($0) }
    }

    deinit {
        // Safe: `init` has retained it.
        if let owner = unsafe owner { unsafe owner.release() }
    }

    /// Makes a value for an unpublished result. Only the function that reads the derived value
    /// receives the result.
    init(unpublished result: CopiedResult) {
        self.init(set: .none, sequence: 0, version: .max, words: result.words, owner: result)
    }

    /// A value that represents no evaluation.
    static var none: Present { Present(set: .none, sequence: 1, version: 0, words: Latch.Words()) }

    /// Whether this stands for no evaluation.
    var isNone: Bool { sequence & 1 == 1 }

    /// The result, if it is not published; else nil.
    var unpublished: CopiedResult? {
        // Safe: `init` has retained it.
        sequence == 0 ? unsafe owner?.takeUnretainedValue() as! CopiedResult? : nil
    }

    /// Whether this retains its set.
    var retainsSet: Bool { unsafe owner != nil }

    /// Whether `other` is the same evaluation as this one.
    borrowing func isSame(_ other: borrowing Present) -> Bool { set == other.set && sequence == other.sequence }

    /// Whether the result is current: every source still has the version that was read. The caller
    /// must hold no lock, because reading the version of another source runs that source's own
    /// code.
    var isCurrent: Bool {
        @inline(__always) get { areRootsCurrent && (!set.hasOthers || areOthersCurrent) && set.isStill(sequence) }
    }

    private var areRootsCurrent: Bool {
        @inline(__always) get {
            for index in 0..<set.count where DependencySet.version(at: set.address(index)) != set.rootVersion(index) {
                return false
            }
            return true
        }
    }

    @inline(never)
    private var areOthersCurrent: Bool {
        self.set.object.details!.others.enumerated().allSatisfy { index, other in
            other.version == set.otherVersion(index)
        }
    }
}
