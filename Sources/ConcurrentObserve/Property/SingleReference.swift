// SPDX-License-Identifier: Apache-2.0

/// Says whether a property's values are stored as single references or in boxes. It is the second
/// word of each value.
///
/// It also says whether the release of a value may run user code, and how the memory behind a
/// collection is measured.
@usableFromInline
internal struct ReferenceMark {
    @usableFromInline let word: UInt

    @inlinable
    init(word: UInt) { self.word = word }

    /// Whether the values are boxed.
    @inlinable @inline(__always)
    var isOfBoxes: Bool { word & 7 == 0 }

    /// Whether the release of such a reference may run user code.
    @inlinable @inline(__always)
    var runsUserCode: Bool { word & 11 == 0 }

    fileprivate static var box: ReferenceMark { ReferenceMark(word: 0) }
    fileprivate static var object: ReferenceMark { ReferenceMark(word: 4) }
    fileprivate static var inertBox: ReferenceMark { ReferenceMark(word: 8) }

    /// The kind of collection that a reference belongs to.
    fileprivate enum Kind: UInt { case array = 1, set, dictionary }

    /// - Parameter stride: The bytes of an element.
    fileprivate init(_ kind: Kind, stride: Int) { word = UInt(bitPattern: stride) << 2 | kind.rawValue }

    /// Estimates the bytes of memory behind `reference`, which the caller owns.
    ///
    /// - Complexity: O(1): memory that elements reference is estimated, not measured.
    @usableFromInline
    func weight(of reference: UInt) -> Int { capacity(of: reference) &* Int(bitPattern: word >> 2) }

    private func capacity(of reference: UInt) -> Int {
        // Safe, all: the caller's reference keeps the object. Where the capacity is does not depend on the type of the elements, none
        // of which is touched.
        unsafe withUnsafePointer(to: reference) { reference in
            let reference = unsafe UnsafeRawPointer(reference)
            switch Kind(rawValue: word & 3) {
            case .array: return unsafe reference.assumingMemoryBound(to: [UInt8].self).pointee.capacity
            case .set: return unsafe reference.assumingMemoryBound(to: Set<UInt8>.self).pointee.capacity
            case .dictionary: return unsafe reference.assumingMemoryBound(to: [UInt8: UInt8].self).pointee.capacity
            case nil: return 0
            }
        }
    }
}

/// A standard-library collection stored as a single counted reference.
///
/// If the destruction of its elements runs no user code, such a value is released by a thread that
/// replaces one. (P5)
internal protocol ReferencedCollection {
    /// The mark of the collection; that of boxes if the destruction of its elements may run user
    /// code.
    static var mark: ReferenceMark { get }
}

extension Array: ReferencedCollection {
    static var mark: ReferenceMark { ReferenceMark(.array, elements: Element.self) }
}

extension ContiguousArray: ReferencedCollection {
    static var mark: ReferenceMark { ReferenceMark(.array, elements: Element.self) }
}

extension Set: ReferencedCollection {
    static var mark: ReferenceMark { ReferenceMark(.set, elements: Element.self) }
}

extension Dictionary: ReferencedCollection {
    static var mark: ReferenceMark { ReferenceMark(.dictionary, elements: Key.self, Value.self) }
}

/// An optional value. `nil` of `T?` is the address 0 if `T` is one reference. `nil` of `T??` is
/// another bit pattern, which is no address, so such a value is boxed.
private protocol OptionalValue {
    static var markOfPayload: ReferenceMark { get }
}

extension Optional: OptionalValue {
    fileprivate static var markOfPayload: ReferenceMark { ReferenceMark(of: Wrapped.self) }
}

extension ReferenceMark {
    /// The mark of a collection of such elements; that of boxes if their destruction may run user
    /// code.
    fileprivate init<each Element>(_ kind: Kind, elements: repeat (each Element).Type) {
        var stride = 0
        for element in repeat each elements {
            guard Self.isInert(element) else {
                self = .box
                return
            }
            stride += Self.stride(of: element)
        }
        self.init(kind, stride: stride)
    }

    /// Returns the bytes of an element, with an estimate of the memory that it references.
    private static func stride<Element>(of _: Element.Type) -> Int {
        MemoryLayout<Element>.stride + (_isPOD(Element.self) ? 0 : 48)
    }

    private static func isInert<Element>(_: Element.Type) -> Bool {
        _isPOD(Element.self) || Element.self is any InertValue.Type
    }
}

extension ReferenceMark {
    /// The mark of a type that is not optional.
    fileprivate init(of type: Any.Type) {
        if let type = type as? any ReferencedCollection.Type {
            self = type.mark
        } else {
            self = type is AnyObject.Type ? .object : .box
        }
    }
}

extension ValueEncoding {
    /// The mark of all values of the type.
    @inlinable
    static var mark: ReferenceMark { isMarked ? findMark() : ReferenceMark(word: 0) }

    /// Finds the mark. The runtime takes a lock for that on the type's first use. (P18)
    @usableFromInline
    static func findMark() -> ReferenceMark {
        if mayBeMarked {
            let mark = (Value.self as? any OptionalValue.Type)?.markOfPayload ?? ReferenceMark(of: Value.self)
            if !mark.isOfBoxes { return mark }
        }
        return isInert ? .inertBox : .box
    }

    private static var isInert: Bool {
        return Value.self is any InertValue.Type
    }
}
