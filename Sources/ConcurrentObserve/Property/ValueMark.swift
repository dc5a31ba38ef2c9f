// SPDX-License-Identifier: Apache-2.0

/// Makes and reads the *mark* of a property: the second word of its boxed values, which is the same
/// for all values. The mark says how a replaced box is destroyed.
///
/// The mark is the address of a `ValueWeigher` class if the destruction of a value runs no user
/// code. The thread that replaces such a value, or the reclamation thread, then destroys the value;
/// a deinit thread destroys it if it is large. The mark is 0 if the destruction may run user code:
/// then a deinit thread destroys the value. (P5)
///
/// The mark is also 0 for values that are bits. `ValueBox.retire` does not read the mark of such
/// values.
@usableFromInline
internal enum ValueMark {
    /// Returns the mark of a type; 0 if its values are bits, because their mark is not used.
    @inlinable
    static func of<Value>(_ type: Value.Type) -> UInt { _isPOD(type) ? 0 : find(type) }

    /// Finds the mark of a type whose values are not bits. On the type's first use, the runtime
    /// takes a lock for this. (P18)
    @usableFromInline
    static func find<Value>(_ type: Value.Type) -> UInt {
        guard isInert(type), let standard = type as? any StandardValue.Type else { return 0 }
        // Safe: an address only.
        return unsafe UInt(bitPattern: unsafeBitCast(standard.weigher, to: Int.self))
    }

    /// Whether the destruction of a value of the type runs no user code. This is true for bits and
    /// strings, and for arrays, sets, dictionaries and optionals of them.
    static func isInert<Value>(_ type: Value.Type) -> Bool {
        _isPOD(type) || (type as? any StandardValue.Type)?.isInert ?? false
    }

    /// Estimates how many bytes of memory the value at `address`, whose property has this mark,
    /// references. Returns nil if the destruction of the value may run user code.
    static func weight(of mark: UInt, at address: UInt) -> Int? {
        if mark == 0 { return nil }
        // Safe: a mark other than 0 is the address of a `ValueWeigher` class, made for the type of
        // the caller's value.
        let weigher = unsafe unsafeBitCast(mark, to: ValueWeigher.Type.self)
        return unsafe weigher.weight(at: UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
    }
}

/// A type of the standard library. Destroying a value of this type runs user code only if
/// destroying one of its elements does.
private protocol StandardValue {
    static var isInert: Bool { get }
    static var weigher: ValueWeigher.Type { get }
    /// Estimates how many bytes of memory a value references. Takes the value by address, so that
    /// no reference count changes.
    ///
    /// - Complexity: O(1): memory that elements reference is estimated, not measured.
    static func weight(of value: UnsafePointer<BoxedValue<Self>>) -> Int
}

extension StandardValue {
    fileprivate static var weigher: ValueWeigher.Type { StandardWeigher<Self>.self }
    fileprivate static var optionalWeigher: ValueWeigher.Type { OptionalWeigher<Self>.self }
}

// Safe, all: the caller keeps the value.

extension String: StandardValue {
    fileprivate static var isInert: Bool { true }
    fileprivate static func weight(of string: UnsafePointer<BoxedValue<String>>) -> Int {
        unsafe string.pointee.value.utf8.count
    }
}

extension Array: StandardValue {
    fileprivate static var isInert: Bool { ValueMark.isInert(Element.self) }
    fileprivate static func weight(of array: UnsafePointer<BoxedValue<Array>>) -> Int {
        unsafe array.pointee.value.capacity &* estimatedSize(of: Element.self)
    }
}

extension Set: StandardValue {
    fileprivate static var isInert: Bool { ValueMark.isInert(Element.self) }
    fileprivate static func weight(of set: UnsafePointer<BoxedValue<Set>>) -> Int {
        unsafe set.pointee.value.capacity &* estimatedSize(of: Element.self)
    }
}

extension Dictionary: StandardValue {
    fileprivate static var isInert: Bool { ValueMark.isInert(Key.self) && ValueMark.isInert(Value.self) }
    fileprivate static func weight(of dictionary: UnsafePointer<BoxedValue<Dictionary>>) -> Int {
        unsafe dictionary.pointee.value.capacity
            &* (estimatedSize(of: Key.self) &+ estimatedSize(of: Value.self))
    }
}

extension Optional: StandardValue {
    fileprivate static var isInert: Bool { ValueMark.isInert(Wrapped.self) }
    fileprivate static var weigher: ValueWeigher.Type {
        (Wrapped.self as? any StandardValue.Type)?.optionalWeigher ?? ValueWeigher.self
    }
    /// Returns 0: the memory of an optional inside another optional is not estimated.
    fileprivate static func weight(of optional: UnsafePointer<BoxedValue<Optional>>) -> Int { 0 }
}

/// Returns the number of bytes that an element of a collection takes, plus an estimate of the
/// memory that the element references.
private func estimatedSize<Element>(of _: Element.Type) -> Int {
    MemoryLayout<Element>.stride &+ (_isPOD(Element.self) ? 0 : 48)
}

/// Estimates how many bytes of memory the values of a type reference. Each type has its own
/// subclass; the mark is the address of that class.
private class ValueWeigher {
    class func weight(at address: UnsafeRawPointer) -> Int { 0 }
}

private final class StandardWeigher<Value: StandardValue>: ValueWeigher {
    override class func weight(at address: UnsafeRawPointer) -> Int {
        // Safe: the caller has a value of this type there.
        unsafe Value.weight(of: address.assumingMemoryBound(to: BoxedValue<Value>.self))
    }
}

private final class OptionalWeigher<Wrapped: StandardValue>: ValueWeigher {
    override class func weight(at address: UnsafeRawPointer) -> Int {
        // Safe: as above. An optional begins with the value that it wraps.
        if case .none = unsafe address.assumingMemoryBound(to: BoxedValue<Wrapped?>.self).pointee.value { return 0 }
        return unsafe Wrapped.weight(of: address.assumingMemoryBound(to: BoxedValue<Wrapped>.self))
    }
}
