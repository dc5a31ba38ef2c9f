// SPDX-License-Identifier: Apache-2.0

// The compiler specialises the initialisers for some properties where they are called. It does not
// specialise the work on the elements of a parameter pack: the initialiser for any number of
// properties finds out their types once, and calls a closure for each.
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
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, compute: compute) { $0.finish($1) }
            }
            collector.snapshot {
                let values = (collector.read(first))
                return { collector.finish(compute(values)) }
            }
        }
    }

    /// Makes a derived value of two properties, which it retains. Every result is a change.
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - second: The second property, whose value is the function's second parameter.
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
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, second, compute: compute) { $0.finish($1) }
            }
            collector.snapshot {
                let values = (collector.read(first), collector.read(second))
                return { collector.finish(compute(values.0, values.1)) }
            }
        }
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
