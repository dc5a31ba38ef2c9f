// SPDX-License-Identifier: Apache-2.0

/// How the function of a derived value reads what it depends on: `get(property)`.
///
/// What is read with it, the derived value follows. What the function reads as `property.value` it
/// does not. It cannot be kept beyond the call, and traps on another thread.
public struct Reader: ~Copyable {
    internal let collector: Collector

    internal init(_ collector: Collector) { self.collector = collector }

    /// The value of a property of any kind. Never waits; evaluates a derived value that is not current.
    public borrowing func callAsFunction<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        collector.trapElsewhere()
        return collector.read(property)
    }

    // Those of known types are the same, and do not look for the type at run time.

    /// The value of a property.
    public borrowing func callAsFunction<Value: Sendable>(_ property: Observed<Value>) -> Value {
        collector.trapElsewhere()
        return property.read(into: collector)
    }

    /// The value of another derived value, which is evaluated if it is not current.
    public borrowing func callAsFunction<Value: Sendable>(_ derived: Derived<Value>) -> Value {
        collector.trapElsewhere()
        return derived.read(into: collector)
    }
}
