// SPDX-License-Identifier: Apache-2.0

/// Any number of properties of one type, read and observed together: a ``Group`` whose size is not
/// known in advance.
///
/// ```swift
/// let token = PropertyList(car.wheels.map(\.pressure)).observe { change in
///     print(change.new)
/// }
/// ```
///
/// Observers receive an array with the latest value of each property, for each change of one of
/// them. Everything else is as for ``Group``.
public struct PropertyList<Property: ObservableProperty>: ObservableProperty {
    @usableFromInline internal let properties: [Property]
    @usableFromInline internal let members: GroupMembers

    /// Makes a list of properties.
    ///
    /// - Parameter properties: At least one, in the order of the values in the array.
    public init(_ properties: [Property]) {
        if properties.isEmpty {
            fatalError("ConcurrentObserve: a list of no properties has no value. Give it at least one.")
        }
        self.properties = properties
        members = GroupMembers(of: properties)
    }

    /// The values, which were present together at one moment. (P20)
    @inlinable
    public var value: [Property.Value] { snapshot().value }

    /// The sum of the properties' versions: it grows with every change of one of them.
    @inlinable
    public var version: UInt64 { properties.reduce(0) { $0 &+ $1.version } }

    /// Returns values that were present together at one moment, and the version that belongs to
    /// them. See ``Group/snapshot()``. (P20)
    ///
    /// - Complexity: O(properties), and once more for each change that comes in between.
    @inlinable
    public func snapshot() -> (value: [Property.Value], version: UInt64) {
        Snapshots.take(members) {
            unsafe properties.withLentElements { properties in
                ValueEncoding<Property.Value>.isAlwaysInline
                    ? unsafe Self.lookAtBits(properties) : unsafe Self.look(properties)
            }
        }
    }

    /// Begins an observation of all properties together. (P1, P4)
    ///
    /// - Complexity: O(properties).
    public func attach(_ observer: PropertyObserver<[Property.Value]>) -> ObservationToken {
        weakAttachment(observer)!
    }

    /// A function that begins an observation of all properties, but does not retain them. It
    /// returns nil once one of the properties is gone. (P11)
    public var weakAttachment: @Sendable (PropertyObserver<[Property.Value]>) -> ObservationToken? {
        let joining = makeJoining()
        return { observer in Combination<[Property.Value]>.attach(observer, joining) }
    }
}

// Safe, all: within bounds.
extension PropertyList {
    /// Returns the values and the sum of their versions; nil if a property changed in between.
    @inlinable @inline(__always)
    internal static func look(
        _ properties: UnsafeBufferPointer<Lent<Property>>
    ) -> (value: [Property.Value], version: UInt64)? {
        var version: UInt64 = 0
        var values: [Property.Value] = []
        values.reserveCapacity(properties.count)
        for index in properties.indices {
            let found = unsafe properties[index].snapshot()
            version &+= found.version
            values.append(found.value)
        }
        return unsafe Snapshots.isSame(version, sumOfVersions(properties)) ? (values, version) : nil
    }

    /// Returns the values, whose type must be plain bits, and the sum of their versions; nil if a
    /// property changed in between. The values are collected on the stack, and copied at once into
    /// an array of the right size. Filling an array one by one takes twice as many instructions.
    @inlinable @inline(__always)
    internal static func lookAtBits(
        _ properties: UnsafeBufferPointer<Lent<Property>>
    ) -> (value: [Property.Value], version: UInt64)? {
        unsafe withUnsafeTemporaryAllocation(of: Property.Value.self, capacity: properties.count) { values in
            var version: UInt64 = 0
            for index in properties.indices {
                let found = unsafe properties[index].snapshot()
                version &+= found.version
                unsafe values.initializeElement(at: index, to: found.value)
            }
            guard unsafe Snapshots.isSame(version, sumOfVersions(properties)) else { return nil }
            return (unsafe Array(UnsafeBufferPointer(values)), version)
        }
    }

    @inlinable @inline(__always)
    internal static func sumOfVersions(_ properties: UnsafeBufferPointer<Lent<Property>>) -> UInt64 {
        var sum: UInt64 = 0
        for index in properties.indices { unsafe sum &+= properties[index].version() }
        return sum
    }
}

extension PropertyList: WeaklyNamed {
    var weakSource: WeakSource<PropertyList> {
        let sources = properties.map { WeakSource($0) }
        return WeakSource(
            find: {
                let found = sources.compactMap { $0.find() }
                return found.count == sources.count ? PropertyList(found) : nil
            },
            hold: { held in sources.allSatisfy { $0.hold(&held) } }
        )
    }
}

/// An element of an array. It is used in place, so that no reference is counted.
@usableFromInline
internal struct Lent<Element>: ~Copyable {
    @usableFromInline let element: Element
}

extension Lent where Element: ObservableProperty {
    @inlinable @inline(__always)
    borrowing func snapshot() -> (value: Element.Value, version: UInt64) { element.snapshot() }

    @inlinable @inline(__always)
    borrowing func version() -> UInt64 { element.version }
}

extension Array {
    @inlinable @inline(__always)
    internal func withLentElements<Result>(_ body: (UnsafeBufferPointer<Lent<Element>>) -> Result) -> Result {
        // Safe: the array keeps its elements, and a struct of one field has that field's layout.
        unsafe withUnsafeBufferPointer { elements in
            let start = unsafe UnsafeRawPointer(elements.baseAddress)?.assumingMemoryBound(to: Lent<Element>.self)
            return unsafe body(UnsafeBufferPointer(start: start, count: elements.count))
        }
    }
}
