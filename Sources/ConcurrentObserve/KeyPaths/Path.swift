// SPDX-License-Identifier: Apache-2.0

// # KeyPaths: where a path leads, and how its observers follow it
//
// The room makes a property of a key path such as `\.engine.rpm`: the property that the path leads
// to at present. When a step is replaced, it relinks the path to the new objects. It uses Property,
// Transaction and Delivery, and the rooms below these.
//
// Begin with `PathObservation.swift`.
// - `Path`: a root object and the steps from there; the public property.
// - `_ObservedPath`: the steps: a `PathLink` for each step before the last, and one `PathStep`.
// - `PathObservation`: one observation: its links, its leaf, and the user's observer.
// - `PathLeaf`: the end of the path at one property; gives that property's changes path versions.
// - `DrainLoop`: lets one thread at a time relink a path. Another thread leaves a note and goes on.
// - `VersionOrder`: puts the changes of a path into a mailbox in the order of their versions.
//
// The life of a `PathObservation`:
// 1. `Path.attach` hands the observer to the property itself if `directProperty(of:)` finds one.
//    Otherwise `attachAlong` makes a `PathObservation`, whose drain loop is entered from the start.
// 2. `start` registers the user's observer, and links the path (`link(below:to:_:)`).
//    `PathLink.attach` registers an observer at each property on the way and samples the property
//    while publication is held off, so each later change calls that observer.
//    `attach(to:isRoot:)` makes the leaf. A change in between leaves a note in the drain loop, and
//    `start` then calls `settle`.
// 3. A change of the last property reaches `PathLeaf.pass` under no lock, or for a mailbox `put`
//    under that property's mutation lock. `number(of:)` computes the path's version from constants.
// 4. A change of a link calls `linkHasChanged`, and that calls `settle`. In the drain loop `relink`
//    compares each link's version. Where one differs, `cut(below:_:)` ends the observers below.
//    `Observed.cut(at:)` stores the leaf's limit while publication is held off, so each later
//    change finds it. `link(below:to:_:)` links the new objects, and `.pathChanged` has the next
//    version. After eight rounds a thread of the library does the rest.
// 5. A cut leaf is done when `outstanding` is 0: all changes up to the limit are delivered. The
//    count is subtracted with release and read with acquire. `finish` ends the leaf's observer.
// 6. `drop` runs when the user's observer has finished, and `rootIsGone` when the root's property
//    is gone. Both call `settle`, where `endIfNeeded` ends the links and the leaf. After
//    `rootIsGone` the last `finishOne` ends the user's observation with `.sourceDeleted`. (P12)
//
// P1 to P25 are the promises of the article Contract. Rules of the room:
// - A key path is evaluated, an object released and a user's closure called under no lock. `Round`
//   keeps the objects and the deliveries until the thread has left the drain loop. (P5, P7)
// - The versions of an observation have no gaps, whichever threads make the changes. (P2)
//
// The walk that matters most: `Observed.deliverToAllKinds`, `ObserverList.notifyLinks` (both in
// Property), `linkHasChanged`, `settle`, `relink`, `cut(below:_:)`, `link(below:to:_:)`. After all
// paths through the property are relinked, read on with `LinkDeliveries.deliver`, `deliver`,
// `finishOne`.

/// An observable view of the property that a key path leads to at present.
///
/// ``ConcurrentObservable`` makes it with `property(_:)`. A path retains its root; its observations
/// do not. (P11)
///
/// When any thread replaces a step before the last, observers receive `.pathChanged` with the
/// path's values before and after. Then they receive the changes of the new property, and no more
/// of the old one. While a step is nil, the value is nil. A change that races with a replacement
/// may become part of the `.pathChanged`, and two replacements that race may become one
/// `.pathChanged`. The source of a path is its root: when the root is deinitialised, observations
/// end with `.sourceDeleted`. (P12)
///
/// An observation of several steps, or of one step to a `WeakObserved`, numbers its changes itself:
/// 1, 2, 3, …. The `old` of each change is the `new` of the change before it, and the `.initial`
/// has version 0. Any other path of one step is the property itself, and has its versions. (P2)
///
/// Inline observers are called on the threads that make the changes. `.pathChanged` may also come
/// on another thread that replaces a step at the same time. When replacements keep racing, it may
/// come on a thread of the library; `drain` waits for that delivery.
public struct Path<Root: ConcurrentObservable, Value: Sendable>: ObservableProperty {
    @usableFromInline internal let root: Root
    @usableFromInline internal let steps: _ObservedPath<Root, Value>

    @usableFromInline
    internal init(_ root: Root, _ steps: _ObservedPath<Root, Value>) {
        if steps.last == nil {
            fatalError("ConcurrentObserve: a path needs a step. Name a property, as in \\.name.")
        }
        (self.root, self.steps) = (root, steps)
    }
}

extension ConcurrentObservable {
    /// Returns an observable view of the property that `path` leads to at present.
    ///
    /// ```swift
    /// let rpm = car.property(\.engine.rpm)
    /// let token = rpm.observe { change in print(change.new) }
    /// ```
    ///
    /// - Parameter path: The steps, as in `\.engine.rpm`.
    @inlinable
    public func property<Value: Sendable>(_ path: KeyPath<_ObservedPath<Self, Self>, _ObservedPath<Self, Value>>)
        -> Path<Self, Value>
    {
        Path(self, _ObservedPath<Self, Self>.root[keyPath: path])
    }
}

// MARK: - Reading

extension Path {
    /// The value of the property that the path leads to at present. Any thread; never waits.
    /// Evaluates the steps.
    ///
    /// - Complexity: O(steps).
    public var value: Value { snapshot().value }

    /// A number that differs for different states of the path. As long as the versions of all steps
    /// fit into it, it grows with every change of the path's value. The lower 32 bits have the
    /// version of the last property. The upper 32 bits have the versions of the steps before it,
    /// which count their replacements: an earlier step counts for more than all later ones. The
    /// number of a path of one step is its property's version.
    ///
    /// The steps before the last share 32 bits: two of them have 16 each. If the version of a step
    /// needs more bits than the step has, the number is a hash of all versions, and no longer
    /// grows. It still differs from the number of every other state, unless two 64-bit hashes
    /// happen to be equal.
    ///
    /// - Complexity: O(steps).
    public var version: UInt64 { snapshot().version }

    /// Returns the value of the property that the path leads to at present, and the ``version``
    /// that belongs to it. Any thread; never waits.
    ///
    /// - Complexity: O(steps).
    public func snapshot() -> (value: Value, version: UInt64) {
        var object: PathObject? = root
        var replacements: UInt64 = 0
        var states = VersionMix()
        // A replaced step leads to other properties, whose versions may be lower. Therefore an
        // earlier step counts for more.
        let bits = 32 / max(steps.links.count, 1)
        for link in steps.links {
            replacements <<= bits
            guard let present = object else { continue }
            let (next, version) = link.sample(link.property(in: present))
            object = next
            replacements &+= version
            states.add(version, atMost: bits)
        }
        guard let object, let last = steps.last else {
            return (steps.absent!, states.isOver ? states.number : replacements << 32)
        }
        let (value, version) = last.snapshot(of: last.property(in: object))
        states.add(version, atMost: 32)
        return (value, states.isOver ? states.number : replacements << 32 &+ version)
    }
}

/// A hash of the versions of all steps of a path. It is used when the versions do not fit side by
/// side into one number.
///
/// A shifted sum would be equal for different states: 65,536 replacements of a step would count as
/// one replacement of the step before it. Comparing two such numbers would then miss a change.
internal struct VersionMix {
    private(set) var number: UInt64 = 0
    /// Whether a version needed more bits than it had.
    private(set) var isOver = false

    /// Adds the version of the next step, which fits into the plain number if it has at most `bits`
    /// bits.
    mutating func add(_ version: UInt64, atMost bits: Int) {
        if version >> UInt64(bits) != 0 { isOver = true }
        // The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
        // Generators", OOPSLA 2014), a bijection.
        var mixed = (number ^ version) &+ 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        number = mixed ^ mixed >> 31
    }
}

// MARK: - Observing

extension Path {
    /// Begins an observation: `observer` receives each change. The returned token keeps the
    /// observation going. Any thread, also inside a callback. (P1, P4)
    ///
    /// - Complexity: O(steps).
    @inlinable
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        if let property = steps.directProperty(of: root) { return property.attach(observer) }
        return attachAlong(observer)
    }

    /// A function that attaches an observer. It does not retain the root, and returns nil once the
    /// root is gone. (P11)
    public var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? {
        { [weak root, steps] observer in root.map { Path($0, steps).attach(observer) } }
    }

    /// Begins an observation of a path of several steps, or of one step whose property stores other
    /// values than the path shows.
    @usableFromInline
    internal func attachAlong(_ observer: PropertyObserver<Value>) -> ObservationToken {
        if let token = steps.last?.attach(observer, along: steps.links, from: root) { return token }
        switch observer.form {
        case .inline(let callback):
            return attach(observer.options, owner: observer.owner, nil) { $0.setCallback(callback) }
        case .mailbox(let factory):
            return attach(factory.make(), observer.options, owner: observer.owner)
        }
    }

    /// Begins an observation that puts the path's changes into a mailbox, in the order of their
    /// versions.
    private func attach(
        _ receiver: ChangeReceiver<Value>,
        _ options: ObserverOptions,
        owner: WeakReference?
    ) -> ObservationToken {
        let order = VersionOrder<Value>(options, receiver.enqueue)
        let ordered = ChangeReceiver<Value>(
            enqueue: order.put,
            wake: receiver.wake,
            drain: receiver.drain,
            join: receiver.join,
            hasJoined: receiver.hasJoined
        )
        var token: ObservationToken?
        let inner = attach(options, owner: owner, ordered) { sourceObserver in
            token = receiver.join(sourceObserver)
            // Called with the initial value, and with prior deliveries.
            sourceObserver.setCallback(
                Callback<Change<Value>> { change in
                    order.put(change)
                    // A prior delivery comes from the property's walk over its mailboxes; the
                    // property drains them afterwards. (P1)
                    if change.reason != .prior { receiver.drain() }
                }
            )
        }
        receiver.hasJoined()
        guard let token else { return inner }
        _ = token.observer.whenFinished { _ in withExtendedLifetime(inner) {} }
        return token
    }

    /// Begins an observation of the path's properties.
    ///
    /// - Parameter prepare: Gives the user's observer its closure before it is registered.
    private func attach(
        _ options: ObserverOptions,
        owner: WeakReference?,
        _ receiver: ChangeReceiver<Value>?,
        _ prepare: (Observer) -> Void
    ) -> ObservationToken {
        let observation = PathObservation(steps, options: options, owner: owner, receiver: receiver)
        let observer = observation.observers.makeVersionedObserver(owner: owner, options.marks)
        prepare(observer)
        return observation.start(observer, root: root)
    }
}

extension Path: WeaklyNamed {
    var weakSource: WeakSource<Path> { WeakSource(root) { [steps] root in Path(root, steps) } }
}
