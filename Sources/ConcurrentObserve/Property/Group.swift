// SPDX-License-Identifier: Apache-2.0

/// Several properties, of any roots and any types, read and observed together.
///
/// ```swift
/// let token = Group(car.name, car.property(\.engine.rpm)).observe { change in
///     let (name, rpm) = change.new
///     print(name, rpm)
/// }
/// ```
///
/// Observers receive a tuple with the latest value of each, for each change of one of them; changes that race may be folded into one.
/// Each observation numbers its changes itself, 1, 2, 3, …, `old` being `new` of the one before; its `.initial` has version 0. So the last
/// call has the last values of all. (P2, P3)
///
/// The group retains its properties; what is observed through it does not. (P11) When one of them is gone, the observation ends with
/// `.sourceDeleted`; when the observations of one of them are cancelled, the group's are cancelled, too. (P8, P12) `.prior` is not
/// delivered: a group learns of a change when it is made.
public struct Group<Value: Sendable>: ObservableProperty {
    // The properties' types stand in `init` alone: Swift 6.3 refuses a closure that is passed to a method of `Group(a, b)`, in the
    // same expression, when they are the group's own ("pack reference … can only appear in pack expansion").
    private let readValue: @Sendable () -> Value
    private let readVersion: @Sendable () -> UInt64

    /// Begins observations for as long as all properties live. (P11)
    public let weakAttachment: WeakAttachment<Value>

    /// Makes a group.
    ///
    /// - Parameter property: The properties, in the order of the values in the tuple.
    public init<each Property: ObservableProperty>(
        _ property: repeat each Property
    ) where Value == (repeat (each Property).Value) {
        readValue = { (repeat (each property).value) }
        readVersion = {
            var sum: UInt64 = 0
            for property in repeat each property { sum &+= property.version }
            return sum
        }
        weakAttachment = Self.attachments(repeat (each property).weakAttachment)
    }

    /// Values that were present together at one moment. (P20)
    public var value: Value { snapshot().value }

    /// The sum of the properties' versions: it grows with every change of one of them.
    public var version: UInt64 { readVersion() }

    /// Values that were present together at one moment, and the number that belongs to them. Any thread; waits for no body of a `modify`. (P20)
    ///
    /// Looks again if a property has changed meanwhile, as lock-free snapshots do (Afek and others, "Atomic Snapshots of Shared Memory", 1993:
    /// the double collect).
    ///
    /// - Complexity: O(properties), and once more for each change that comes in between.
    public func snapshot() -> (value: Value, version: UInt64) {
        while true {
            let version = version
            let value = readValue()
            if self.version == version { return (value, version) }
        }
    }

    /// Begins an observation of all properties together. (P1, P4)
    ///
    /// - Complexity: O(properties).
    public func attach(_ observer: PropertyObserver<Value>) -> ObservationToken {
        weakAttachment(observer)!
    }
}

extension Group {
    /// Attaches an observer to all members, which are not retained.
    private static func attachments<each Member: Sendable>(
        _ attachment: repeat @escaping WeakAttachment<each Member>
    ) -> WeakAttachment<Value> where Value == (repeat each Member) {
        { observer in
            let combination = Combination<Value>()
            var members: [ObservationToken] = []
            var isComplete = true
            func add<One: Sendable>(_ attach: WeakAttachment<One>) -> Combination<Value>.Slot<One> {
                let (slot, token) = combination.add(attach)
                if let token { members.append(token) } else { isComplete = false }
                return slot
            }
            let slots = (repeat add(each attachment))
            guard isComplete else { return nil }
            return combination.start(observer, members) { (repeat (each slots).value) }
        }
    }
}
