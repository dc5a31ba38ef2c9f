// SPDX-License-Identifier: Apache-2.0

/// An element of an array that is used in place, so no reference is counted.
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
