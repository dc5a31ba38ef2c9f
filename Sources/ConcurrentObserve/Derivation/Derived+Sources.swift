// SPDX-License-Identifier: Apache-2.0

// The compiler specialises the initialisers for one and two properties where they are called. It
// does not specialise the work on the elements of a parameter pack: the initialiser for any number
// of properties finds out their types once, and calls a closure for each.

extension Derived {
    /// Makes a derived value of a property, which it retains. Every result is a change.
    ///
    /// - Parameters:
    ///   - first: The property, whose value is the function's first parameter.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives a value that was present. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty>(
        _ first: First,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value) -> Value
    ) {
        self.init(fileID, line, snapshotOf: first) { $0.finish(compute($1)) }
    }

    /// Makes a derived value of two properties, which it retains. Every result is a change.
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - second: The second property.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty, Second: ObservableProperty>(
        _ first: First,
        _ second: Second,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, Second.Value) -> Value
    ) {
        self.init(fileID, line, snapshotOf: first, second) { $0.finish(compute($1, $2)) }
    }

    /// Makes a derived value of these properties, which it retains. Every result is a change.
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - other: The other properties, in the order of the function's parameters.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty, each Other: ObservableProperty>(
        _ first: First,
        _ other: repeat each Other,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, repeat (each Other).Value) -> Value
    ) {
        self.init(fileID, line, snapshotOf: first, repeat each other, compute: compute) { $0.finish($1) }
    }
}

extension Derived where Value: Equatable {
    /// Makes a derived value of a property, which it retains. A result that equals the previous one
    /// is no change. (P24)
    ///
    /// - Parameters:
    ///   - first: The property, whose value is the function's first parameter.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives a value that was present. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty>(
        _ first: First,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value) -> Value
    ) {
        self.init(fileID, line, snapshotOf: first) { $0.finish(compute($1), ==) }
    }

    /// Makes a derived value of two properties, which it retains. A result that equals the
    /// previous one is no change. (P24)
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - second: The second property.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty, Second: ObservableProperty>(
        _ first: First,
        _ second: Second,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, Second.Value) -> Value
    ) {
        self.init(fileID, line, snapshotOf: first, second) { $0.finish(compute($1, $2), ==) }
    }

    /// Makes a derived value of these properties, which it retains. A result that equals the
    /// previous one is no change. (P24)
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - other: The other properties, in the order of the function's parameters.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty, each Other: ObservableProperty>(
        _ first: First,
        _ other: repeat each Other,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, repeat (each Other).Value) -> Value
    ) {
        self.init(fileID, line, snapshotOf: first, repeat each other, compute: compute) { $0.finish($1, ==) }
    }
}

extension Derived {
    /// Makes a derived value of one property. Its function receives a value that was present: if
    /// the property is a path, never a mixture.
    @inlinable
    internal convenience init<Source: ObservableProperty>(
        _ file: StaticString,
        _ line: UInt,
        areEqual: (@Sendable (Value, Value) -> Bool)? = nil,
        snapshotOf source: Source,
        _ finish: @escaping @Sendable (Collector, Source.Value) -> Void
    ) {
        self.init(file, line, areEqual: areEqual, namesSources: true) { collector in
            if collector.outcome.isWeakening { return collector.weaken(source, compute: { $0 }, finish: finish) }
            collector.snapshot {
                let value = collector.read(source)
                return { finish(collector, value) }
            }
        }
    }

    /// Makes a derived value of two properties. Its function receives values that were present
    /// together.
    @inlinable
    internal convenience init<First: ObservableProperty, Second: ObservableProperty>(
        _ file: StaticString,
        _ line: UInt,
        snapshotOf first: First,
        _ second: Second,
        _ finish: @escaping @Sendable (Collector, First.Value, Second.Value) -> Void
    ) {
        self.init(file, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, second, compute: { ($0, $1) }) { finish($0, $1.0, $1.1) }
            }
            collector.snapshot {
                let values = (collector.read(first), collector.read(second))
                return { finish(collector, values.0, values.1) }
            }
        }
    }
    /// Makes a derived value of any number of properties. `compute` receives values that were
    /// present together.
    @inlinable
    internal convenience init<First: ObservableProperty, each Other: ObservableProperty>(
        _ file: StaticString,
        _ line: UInt,
        snapshotOf first: First,
        _ other: repeat each Other,
        compute: @escaping @Sendable (First.Value, repeat (each Other).Value) -> Value,
        _ finish: @escaping @Sendable (Collector, Value) -> Void
    ) {
        let others = (repeat Collector.reader(of: each other))
        self.init(file, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, repeat each other, compute: compute, finish: finish)
            }
            collector.snapshot {
                let values = (collector.read(first), (repeat (each others)(collector)))
                return { finish(collector, compute(values.0, repeat each values.1)) }
            }
        }
    }
}
