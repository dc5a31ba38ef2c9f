// SPDX-License-Identifier: Apache-2.0

/// Any number of properties of one type, read and observed together: a ``Group`` whose size is not known in advance.
///
/// ```swift
/// let token = PropertyList(car.wheels.map(\.pressure)).observe { change in
///     print(change.new)
/// }
/// ```
///
/// Observers receive an array with the latest value of each, for each change of one of them. In everything else it is as ``Group`` is.
public struct PropertyList<Property: ObservableProperty>: ObservableProperty {
    @usableFromInline internal let properties: [Property]
    @usableFromInline internal let members: GroupMembers

    /// Makes a list.
    ///
    /// - Parameter properties: At least one, in the order of the values in the array.
    public init(_ properties: [Property]) {
        if properties.isEmpty {
            fatalError("ConcurrentObserve: a list of no properties has no value. Give it at least one.")
        }
        self.properties = properties
        members = GroupMembers(of: properties)
    }

    /// Values that were present together at one moment. (P20)
    @inlinable
    public var value: [Property.Value] { snapshot().value }

    /// The sum of the properties' versions: it grows with every change of one of them.
    @inlinable
    public var version: UInt64 { properties.reduce(0) { $0 &+ $1.version } }

    /// Values that were present together at one moment, and the number that belongs to them. See ``Group/snapshot()``. (P20)
    ///
    /// - Complexity: O(properties), and once more for each change that comes in between.
    @inlinable
    public func snapshot() -> (value: [Property.Value], version: UInt64) {
        Snapshots.take(members) {
            unsafe properties.withLentElements { properties in
                var version: UInt64 = 0
                let value = unsafe [Property.Value](unsafeUninitializedCapacity: properties.count) { values, count in
                    while count < properties.count {
                        let found = unsafe properties[count].snapshot()
                        version &+= found.version
                        unsafe values.initializeElement(at: count, to: found.value)
                        count += 1
                    }
                }
                var later: UInt64 = 0
                for index in properties.indices { later &+= unsafe properties[index].version() }
                return Snapshots.isSame(version, later) ? (value, version) : nil
            }
        }
    }

    /// Begins an observation of all properties together. (P1, P4)
    ///
    /// - Complexity: O(properties).
    public func attach(_ observer: PropertyObserver<[Property.Value]>) -> ObservationToken {
        weakAttachment(observer)!
    }

    /// Begins observations for as long as all properties live. (P11)
    public var weakAttachment: WeakAttachment<[Property.Value]> {
        let attachments = properties.map(\.weakAttachment)
        return { observer in
            let combination = Combination<[Property.Value]>()
            let members = attachments.map { combination.add($0) }
            let tokens = members.compactMap(\.token)
            guard tokens.count == members.count else { return nil }
            let slots = members.map(\.slot)
            return combination.start(observer, tokens) { slots.map(\.value) }
        }
    }
}
