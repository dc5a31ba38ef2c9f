// SPDX-License-Identifier: Apache-2.0

// # Transaction: how several properties are changed, read and observed as one
//
// This room (folder) makes one property of several: it reads them at one moment, and observes them
// together. A commit changes several of them as one. The room uses Property, and the rooms below
// it. P1 to P25 are the promises of the article Contract.
//
// Begin with `Commit.swift`, then read `Combination.swift`.
// - `Group`: the members, with `snapshot`, `attach` and `commit`. `PropertyList` is a group of one
//   type.
// - `Member`: the addresses of a property's lock, latch and observers. `MemberList` orders them.
// - `Transaction`: the drafts that the body of a commit reads and sets. Each member has one
//   `Draft`.
// - `PathTrace`: where the paths of a group lead, with the versions of the properties on the way.
// - `CommitReach`: the combinations and paths that a commit reaches.
// - `Combination`: one observation of a group. A `MemberSlot` has the latest value of a member.
// - `Snapshots`: reads the values, then the versions again, until none differs. After 16 failed
//   attempts it holds off publication.
//
// The life of a commit, all on one thread:
// 1. `Commit.perform` calls `run`. If the group has paths, `runAlongPaths` follows them under no
//    lock, and repeats this until `PathTrace.isPresent` finds the same versions under the locks.
// 2. `Member.lockForBody` takes the mutation locks in the order of the members' addresses, so
//    commits never wait for each other in a cycle. The body runs on the drafts. If it throws,
//    `discard` releases the locks.
// 3. `publish` begins. `leaveBody` waits for registrations and snapshots that began while the body
//    ran. `prepare` stores each new value in the latch's spare slot and marks the version
//    (release). `CommitDecision.make` is one release store, which makes all prepared values the
//    present ones. A reader that finds the mark loads the decision with acquire (`isMade`).
// 4. If a member is observed, `deliverLocked` fills the mailboxes and calls the observers that
//    combinations have at the members: each stages its change (`MemberSlot.stage`). Then
//    `CommitReach.gatherLocked` gives each combination all of them in one step
//    (`Combination.take`).
// 5. `settle` stores the next version without the mark (release). `unlock` releases the locks.
// 6. `relink` relinks the paths and wakes the mailboxes of all members. Then `announce` calls the
//    observers, member by member, and retires the replaced value. It calls the observer of a
//    combination a second time for the same change. The first of these calls publishes the step of
//    the commit; the others find nothing to do.
//
// The life of a `Combination`: `attach` joins each member with an inline observer (`join`). `start`
// attaches the user's observer to a property of the combination's own. `note` puts a change into
// its slot, and `publish` commits it to that property, both under the combination's lock, so the
// versions have no gaps (P2). Observers are called after the unlock. When the user's observation
// ends, the members' observers end (P24). A member's death drops the property (P12).
//
// Rules of the room:
// - Only the body runs user code under the members' locks. `CommitReach` and the drafts keep
//   replaced values until the unlock. (P5)
// - A prepared change is always committed, and a commit is never folded with another change. (P19,
//   P21)
//
// The calls to read, in their order: `Group.commit`, `Commit.perform`, `run`, `lockForBody`, the
// body, `publish`, `leaveBody`, `prepare`, `make`, `deliverLocked`, `settle`, `unlock`, `announce`.

/// Several properties, of any objects and any types, which are read and observed together.
///
/// ```swift
/// let token = Group(car.name, car.property(\.engine.rpm)).observe { change in
///     let (name, rpm) = change.new
///     print(name, rpm)
/// }
/// ```
///
/// Observers receive a tuple with the latest value of each property, for each change of one of
/// them. Changes that several threads make at the same time may be combined into one change. A
/// ``commit(_:)`` is always one change, and is not combined with others. (P21)
///
/// Each observation numbers its changes itself: 1, 2, 3, …; `.initial` has version 0. `old` of each
/// change is `new` of the change before it. The change with the highest version has the last values
/// of all. (P2, P3) A property that is named twice is observed twice: a commit of it is one change,
/// any other change of it is two.
///
/// The group retains its properties. An observation of the group does not, but keeps their last
/// values, and so the referent of a weak property. (P11) When one of the properties is gone, the
/// observation ends with `.sourceDeleted`. (P12) If the observations of one of the properties are
/// cancelled, the observations of the group are cancelled, too. If one of the properties cancels
/// the observations of an owner, the group's observations with this owner are cancelled, too. (P8)
/// `.prior` has no effect, because a group receives a change only after it is made.
public struct Group<Value: Sendable>: ObservableProperty {
    // Closures, and no pack of properties: a pack in the type of `Value` is more than the compiler
    // (6.3) manages in users' closures. If the compiler knows the properties' types, it compiles
    // the closures for them.
    /// Returns the values and the sum of the versions; nil if a property changed in between.
    @usableFromInline internal let look: @Sendable () -> (value: Value, version: UInt64)?
    @usableFromInline internal let readVersion: @Sendable () -> UInt64
    @usableFromInline internal let members: GroupMembers
    // Made when needed: a weak reference makes every later use of the property slower.
    internal let makeJoining: @Sendable () -> Joining<Value>
    internal let makeWeakSource: @Sendable () -> WeakSource<Group>
    /// Returns the values of the members, each as the `MemberReader` reads it.
    // Not `look` with a reader: a snapshot would take three times as many instructions.
    internal let readEach: @Sendable (any MemberReader) -> Value

    /// Makes a group of these properties.
    ///
    /// - Parameters:
    ///   - readVersion: Returns the sum of the versions.
    ///   - look: Returns the values and the sum of their versions, if the values were present
    ///     together; otherwise nil.
    @usableFromInline
    internal init<each Property: ObservableProperty>(
        of property: repeat each Property,
        readVersion: @escaping @Sendable () -> UInt64,
        look: @escaping @Sendable () -> (value: Value, version: UInt64)?
    ) where Value == (repeat (each Property).Value) {
        let properties = (repeat each property)
        var all: [any ObservableProperty] = []
        for property in repeat each property { all.append(property) }
        if all.isEmpty {
            fatalError("ConcurrentObserve: a group of no properties has no value. Give it at least one.")
        }
        (self.look, self.readVersion, members) = (look, readVersion, GroupMembers(of: all))
        makeJoining = { Self.joining(repeat each properties) }
        makeWeakSource = { Self.weakSource(repeat each properties) }
        readEach = { reader in Self.read(repeat each properties, by: reader) }
    }

    /// A function that begins an observation of all properties, but does not retain them. It
    /// returns nil once one of the properties is gone. (P11)
    public var weakAttachment: @Sendable (PropertyObserver<Value>) -> ObservationToken? {
        let joining = makeJoining()
        return { observer in Combination<Value>.attach(observer, joining) }
    }

    /// Makes a group of any number of properties.
    ///
    /// - Parameter property: The properties, at least one, in the order of the values in the tuple.
    public init<each Property: ObservableProperty>(
        _ property: repeat each Property
    ) where Value == (repeat (each Property).Value) {
        let properties = (repeat each property)
        let readVersion: @Sendable () -> UInt64 = {
            var sum: UInt64 = 0
            for property in repeat each properties { sum &+= property.version }
            return sum
        }
        self.init(of: repeat each property, readVersion: readVersion) {
            let found = (repeat (each properties).snapshot())
            var version: UInt64 = 0
            for snapshot in repeat each found { version &+= snapshot.version }
            return Snapshots.isSame(version, readVersion()) ? ((repeat (each found).value), version) : nil
        }
    }

    /// The values, which were present together at one moment. (P20)
    @inlinable
    public var value: Value { snapshot().value }

    /// The sum of the properties' versions: it grows with every change of one of them.
    @inlinable
    public var version: UInt64 { readVersion() }

    /// Returns values that were present together at one moment, and the version that belongs to
    /// them. Any thread; waits for no body of a `modify` or a commit. (P20)
    ///
    /// Reads again if a property changed in between, as lock-free snapshots do (Afek and others,
    /// "Atomic Snapshots of Shared Memory", 1993: the double collect). After several failed
    /// attempts it holds off the publication of changes for a moment, unless one of the properties
    /// is a path of several steps, a derived value or a type of yours.
    ///
    /// - Complexity: O(properties), and once more for each change that comes in between.
    @inlinable
    public func snapshot() -> (value: Value, version: UInt64) { Snapshots.take(members, look) }

    /// Begins an observation of all properties together. (P1, P4)
    ///
    /// - Complexity: O(properties).
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        weakAttachment(observer)!
    }

    /// Describes how a `Combination` observes all of the properties.
    private static func joining<each Property: ObservableProperty>(
        _ property: repeat each Property
    ) -> Joining<Value> where Value == (repeat (each Property).Value) {
        let joinings = (repeat (each property).joining)
        return Joining { (combination: any Joined) -> (@Sendable () -> Value)? in
            var isComplete = true
            func join<Member: Sendable>(_ joining: Joining<Member>) -> @Sendable () -> Member {
                if let read = joining.join(combination) { return read }
                isComplete = false
                return { preconditionFailure("a group that is not whole is not read") }
            }
            let reads = (repeat join(each joinings))
            guard isComplete else { return nil }
            return { (repeat (each reads)()) }
        }
    }
}

// Initialisers without a pack: with a pack, the type checker does not find the tuple's elements in
// a closure of one expression.
extension Group {
    /// Makes a group of two properties, in the order of the values in the tuple.
    @inlinable
    public init<First: ObservableProperty, Second: ObservableProperty>(
        _ first: First,
        _ second: Second
    ) where Value == (First.Value, Second.Value) {
        let readVersion: @Sendable () -> UInt64 = { first.version &+ second.version }
        self.init(of: first, second, readVersion: readVersion) {
            let (one, two) = (first.snapshot(), second.snapshot())
            let version = one.version &+ two.version
            guard Snapshots.isSame(version, first.version &+ second.version) else { return nil }
            return ((one.value, two.value), version)
        }
    }

    /// Makes a group of three properties, in the order of the values in the tuple.
    @inlinable
    public init<First: ObservableProperty, Second: ObservableProperty, Third: ObservableProperty>(
        _ first: First,
        _ second: Second,
        _ third: Third
    ) where Value == (First.Value, Second.Value, Third.Value) {
        let readVersion: @Sendable () -> UInt64 = { first.version &+ second.version &+ third.version }
        self.init(of: first, second, third, readVersion: readVersion) {
            let (one, two, three) = (first.snapshot(), second.snapshot(), third.snapshot())
            let version = one.version &+ two.version &+ three.version
            guard Snapshots.isSame(version, first.version &+ second.version &+ third.version) else { return nil }
            return ((one.value, two.value, three.value), version)
        }
    }

    /// Makes a group of four properties, in the order of the values in the tuple.
    @inlinable
    public init<
        First: ObservableProperty,
        Second: ObservableProperty,
        Third: ObservableProperty,
        Fourth: ObservableProperty
    >(
        _ first: First,
        _ second: Second,
        _ third: Third,
        _ fourth: Fourth
    ) where Value == (First.Value, Second.Value, Third.Value, Fourth.Value) {
        let readVersion: @Sendable () -> UInt64 = {
            first.version &+ second.version &+ third.version &+ fourth.version
        }
        self.init(of: first, second, third, fourth, readVersion: readVersion) {
            let (one, two, three, four) = (first.snapshot(), second.snapshot(), third.snapshot(), fourth.snapshot())
            let version = one.version &+ two.version &+ three.version &+ four.version
            guard Snapshots.isSame(version, first.version &+ second.version &+ third.version &+ fourth.version)
            else { return nil }
            return ((one.value, two.value, three.value, four.value), version)
        }
    }
}

/// Reads the members of a group one by one. Each adopter reads them in a way of its own.
@usableFromInline
internal protocol MemberReader {
    /// Reads `property`, a member of the group, and returns its value.
    func read<Property: ObservableProperty>(_ property: Property) -> Property.Value
}

extension Group {
    /// Returns the values of these properties, each as `reader` reads it.
    fileprivate static func read<each Property: ObservableProperty>(
        _ property: repeat each Property,
        by reader: any MemberReader
    ) -> Value where Value == (repeat (each Property).Value) {
        (repeat reader.read(each property))
    }
}

extension Group: WeaklyNamed {
    var weakSource: WeakSource<Group> { makeWeakSource() }

    /// Makes a source that refers to these properties weakly.
    fileprivate static func weakSource<each Property: ObservableProperty>(
        _ property: repeat each Property
    ) -> WeakSource<Group> where Value == (repeat (each Property).Value) {
        let sources = (repeat WeakSource(each property))
        return WeakSource(
            find: {
                for source in repeat each sources { if source.find() == nil { return nil } }
                return Group(repeat (each sources).present)
            },
            hold: { held in
                for source in repeat each sources {
                    guard source.hold(&held) else { return false }
                }
                return true
            }
        )
    }
}
