// SPDX-License-Identifier: Apache-2.0

// The compiler specialises the initialisers for some properties where they are called. It does not
// specialise the work on the elements of a parameter pack: the initialiser for any number of
// properties finds out their types once, and calls a closure for each. For five properties, this
// takes more instructions than Scripts/check-counts.sh allows. Therefore derived values whose
// results can be compared have initialisers for three to five properties, too.
extension Derived {
    /// Makes a derived value of a property, and retains the property. Every result is a change.
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
            collector.snapshot({ collector.read(first) }) { values in collector.finish(compute(values)) }
        }
    }

    /// Makes a derived value of two properties, and retains them. Every result is a change.
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
            collector.snapshot({ (collector.read(first), collector.read(second)) }) { values in
                collector.finish(compute(values.0, values.1))
            }
        }
    }

    /// Makes a derived value of these properties, and retains them. Every result is a change.
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
    /// present together. `finish` hands the result to the collector.
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
            // No snapshot(_:then:): the compiler (6.3) infers no type that has a pack from a
            // closure.
            collector.outcome.retains = true
            while true {
                let value = collector.read(first)
                let values = (repeat (each others)(collector))
                guard let mustCompute = collector.mustCompute() else { continue }
                if mustCompute { finish(collector, compute(value, repeat each values)) }
                return
            }
        }
    }
}

extension Derived where Value: Equatable {
    /// Makes a derived value of a property, and retains the property. A result that equals the
    /// previous one is no change. (P24)
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
                return collector.weaken(first, compute: compute) { $0.finish($1, ==) }
            }
            collector.snapshot({ collector.read(first) }) { values in collector.finish(compute(values), ==) }
        }
    }

    /// Makes a derived value of two properties, and retains them. A result that equals the previous
    /// one is no change. (P24)
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
                return collector.weaken(first, second, compute: compute) { $0.finish($1, ==) }
            }
            collector.snapshot({ (collector.read(first), collector.read(second)) }) { values in
                collector.finish(compute(values.0, values.1), ==)
            }
        }
    }

    /// Makes a derived value of three properties, and retains them. A result that equals the
    /// previous one is no change. (P24)
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - second: The second property, whose value is the function's second parameter.
    ///   - third: The third property, whose value is the function's third parameter.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<First: ObservableProperty, Second: ObservableProperty, Third: ObservableProperty>(
        _ first: First,
        _ second: Second,
        _ third: Third,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, Second.Value, Third.Value) -> Value
    ) {
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, second, third, compute: compute) { $0.finish($1, ==) }
            }
            collector.snapshot({ (collector.read(first), collector.read(second), collector.read(third)) }) { values in
                collector.finish(compute(values.0, values.1, values.2), ==)
            }
        }
    }

    /// Makes a derived value of four properties, and retains them. A result that equals the
    /// previous one is no change. (P24)
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - second: The second property, whose value is the function's second parameter.
    ///   - third: The third property, whose value is the function's third parameter.
    ///   - fourth: The fourth property, whose value is the function's fourth parameter.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<
        First: ObservableProperty,
        Second: ObservableProperty,
        Third: ObservableProperty,
        Fourth: ObservableProperty
    >(
        _ first: First,
        _ second: Second,
        _ third: Third,
        _ fourth: Fourth,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, Second.Value, Third.Value, Fourth.Value) -> Value
    ) {
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, second, third, fourth, compute: compute) { $0.finish($1, ==) }
            }
            collector.snapshot({
                (collector.read(first), collector.read(second), collector.read(third), collector.read(fourth))
            }) { values in collector.finish(compute(values.0, values.1, values.2, values.3), ==) }
        }
    }

    /// Makes a derived value of five properties, and retains them. A result that equals the
    /// previous one is no change. (P24)
    ///
    /// - Parameters:
    ///   - first: The first property, whose value is the function's first parameter.
    ///   - second: The second property, whose value is the function's second parameter.
    ///   - third: The third property, whose value is the function's third parameter.
    ///   - fourth: The fourth property, whose value is the function's fourth parameter.
    ///   - fifth: The fifth property, whose value is the function's fifth parameter.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - compute: Receives values that were present together. Runs on any thread, under no lock.
    @inlinable
    public convenience init<
        First: ObservableProperty,
        Second: ObservableProperty,
        Third: ObservableProperty,
        Fourth: ObservableProperty,
        Fifth: ObservableProperty
    >(
        _ first: First,
        _ second: Second,
        _ third: Third,
        _ fourth: Fourth,
        _ fifth: Fifth,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        compute: @escaping @Sendable (First.Value, Second.Value, Third.Value, Fourth.Value, Fifth.Value) -> Value
    ) {
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, second, third, fourth, fifth, compute: compute) { $0.finish($1, ==) }
            }
            collector.snapshot({
                (
                    collector.read(first), collector.read(second), collector.read(third), collector.read(fourth),
                    collector.read(fifth)
                )
            }) { values in collector.finish(compute(values.0, values.1, values.2, values.3, values.4), ==) }
        }
    }

    /// Makes a derived value of these properties, and retains them. A result that equals the
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
