// SPDX-License-Identifier: Apache-2.0

/// What says of a property that its values are single references, which are kept as they are: the second word of each of them.
///
/// It says as well whether their release may run user code, or how the memory behind them is measured. 0 is no mark: the values are
/// boxed.
@usableFromInline
internal struct ReferenceMark {
    @usableFromInline let word: UInt

    @inlinable
    init(word: UInt) { self.word = word }

    /// Whether the release of such a reference may run user code: it is an object's.
    @inlinable @inline(__always)
    var runsUserCode: Bool { word & 3 == 0 }

    fileprivate static var none: ReferenceMark { ReferenceMark(word: 0) }
    fileprivate static var object: ReferenceMark { ReferenceMark(word: 4) }

    /// Which collection a reference is of.
    fileprivate enum Kind: UInt { case array = 1, set, dictionary }

    /// - Parameter stride: The bytes of an element.
    fileprivate init(_ kind: Kind, stride: Int) { word = UInt(bitPattern: stride) << 2 | kind.rawValue }

    /// About how many bytes the memory behind `reference` has, which the caller owns.
    ///
    /// - Complexity: O(1): what elements reference is not counted.
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

/// A type of the standard library's whose values are one counted reference.
///
/// Where elements run no user code when they are destroyed, the thread that replaces such a value releases it. (P5)
internal protocol ReferencedCollection {
    /// No mark where elements may run user code when they are destroyed.
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

/// An optional value. Nil, of a reference, is zero; of an optional reference it would be another bit pattern that is no address.
private protocol OptionalValue {
    static var markOfPayload: ReferenceMark { get }
}

extension Optional: OptionalValue {
    fileprivate static var markOfPayload: ReferenceMark { ReferenceMark(of: Wrapped.self) }
}

extension ReferenceMark {
    /// The mark of a collection of such elements; none if they may run user code when they are destroyed.
    fileprivate init<each Element>(_ kind: Kind, elements: repeat (each Element).Type) {
        var stride = 0
        for element in repeat each elements {
            guard Self.isQuiet(element) else {
                self = .none
                return
            }
            stride += Self.stride(of: element)
        }
        self.init(kind, stride: stride)
    }

    /// A string's own memory is estimated.
    private static func stride<Element>(of _: Element.Type) -> Int {
        Element.self == String.self ? 64 : MemoryLayout<Element>.stride
    }

    private static func isQuiet<Element>(_: Element.Type) -> Bool {
        _isPOD(Element.self) || Element.self == String.self
    }
}

extension ReferenceMark {
    /// The mark of a type that is no optional.
    fileprivate init(of type: Any.Type) {
        if let type = type as? any ReferencedCollection.Type {
            self = type.mark
        } else {
            self = type is AnyObject.Type ? .object : .none
        }
    }
}

extension ValueEncoding {
    /// The mark of all values of the type.
    @inlinable
    static var mark: ReferenceMark { mayBeMarked ? findMark() : ReferenceMark(word: 0) }

    /// The runtime looks for it under a lock, on the type's first use. (P18)
    @usableFromInline
    static func findMark() -> ReferenceMark {
        (Value.self as? any OptionalValue.Type)?.markOfPayload ?? ReferenceMark(of: Value.self)
    }
}
