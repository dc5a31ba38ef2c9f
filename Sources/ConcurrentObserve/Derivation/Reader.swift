// SPDX-License-Identifier: Apache-2.0

/// How the function of a derived value reads what it depends on: `get(property)`.
///
/// What is read with it, the derived value follows. What the function reads as `property.value` it
/// does not. It cannot be kept beyond the call, and traps on another thread.
public struct Reader: ~Copyable {
    @usableFromInline internal let collector: Collector

    internal init(_ collector: Collector) { self.collector = collector }

    /// The value of a property of any kind. Never waits; evaluates a derived value that is not current.
    @inlinable
    public borrowing func callAsFunction<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        collector.trapElsewhere()
        return collector.read(property)
    }
}

extension Collector {
    /// Runs the function of a derived value with a reader. Not inlinable: the compiler of Swift 6.3 crashes where it
    /// inlines what makes a value that cannot be copied, and holds a reference.
    @usableFromInline @inline(never) @_semantics("optimize.no.crossmodule")
    internal func run<Value, Failure: Error>(
        _ compute: (borrowing Reader) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try compute(Reader(self))
    }
}
