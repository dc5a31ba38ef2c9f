// SPDX-License-Identifier: Apache-2.0

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
        self.init(fileID, line, namesSources: true) { collector in
            if collector.outcome.isWeakening {
                return collector.weaken(first, compute: compute) { $0.finish($1, ==) }
            }
            collector.snapshot {
                let values = (collector.read(first))
                return { collector.finish(compute(values), ==) }
            }
        }
    }

    /// Makes a derived value of two properties, which it retains. A result that equals the
    /// previous one is no change. (P24)
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
            collector.snapshot {
                let values = (collector.read(first), collector.read(second))
                return { collector.finish(compute(values.0, values.1), ==) }
            }
        }
    }

    /// Makes a derived value of three properties, which it retains. A result that equals the
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
            collector.snapshot {
                let values = (collector.read(first), collector.read(second), collector.read(third))
                return { collector.finish(compute(values.0, values.1, values.2), ==) }
            }
        }
    }

    /// Makes a derived value of four properties, which it retains. A result that equals the
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
            collector.snapshot {
                let values = (
                    collector.read(first), collector.read(second), collector.read(third), collector.read(fourth)
                )
                return { collector.finish(compute(values.0, values.1, values.2, values.3), ==) }
            }
        }
    }

    /// Makes a derived value of five properties, which it retains. A result that equals the
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
            collector.snapshot {
                let values = (
                    collector.read(first), collector.read(second), collector.read(third), collector.read(fourth),
                    collector.read(fifth)
                )
                return { collector.finish(compute(values.0, values.1, values.2, values.3, values.4), ==) }
            }
        }
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
