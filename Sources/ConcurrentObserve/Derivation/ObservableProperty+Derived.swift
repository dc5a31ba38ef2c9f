// SPDX-License-Identifier: Apache-2.0

extension ObservableProperty {
    /// A derived value: what `transform` makes of this one. Retains this. See ``Derived``. (P22)
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock, when the value is read or this one changes.
    @inlinable
    public func map<Other: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value) -> Other
    ) -> Derived<Other> {
        Derived(fileID, line, snapshotOf: self) { $0.finish(transform($1)) }
    }

    /// A derived value: what `transform` makes of this one; a result that equals the one before is no change. Retains this. See
    /// ``Derived``. (P22, P24)
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock, when the value is read or this one changes.
    @inlinable
    public func map<Other: Sendable & Equatable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value) -> Other
    ) -> Derived<Other> {
        Derived(fileID, line, snapshotOf: self) { $0.finish(transform($1), ==) }
    }

    /// A derived value: what `transform` makes of this one and another, which were present together. Retains both. See
    /// ``Derived``. (P22)
    ///
    /// - Parameters:
    ///   - second: The other one.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock, when the value is read or one of the two changes.
    @inlinable
    public func combine<Second: ObservableProperty, Other: Sendable>(
        _ second: Second,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value, Second.Value) -> Other
    ) -> Derived<Other> {
        Derived(fileID, line, snapshotOf: self, second) { $0.finish(transform($1, $2)) }
    }

    /// A derived value: what `transform` makes of this one and another, which were present together; a result that
    /// equals the one before is no change. Retains both. See ``Derived``. (P22, P24)
    ///
    /// - Parameters:
    ///   - second: The other one.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock, when the value is read or one of the two changes.
    @inlinable
    public func combine<Second: ObservableProperty, Other: Sendable & Equatable>(
        _ second: Second,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value, Second.Value) -> Other
    ) -> Derived<Other> {
        Derived(fileID, line, snapshotOf: self, second) { $0.finish(transform($1, $2), ==) }
    }

    /// A derived value that has this one's values, without those that a rule says are as good as the last one that it
    /// has had: a slow drift is noticed, since each value is compared with that, not with the one before it.
    ///
    /// An observer whose `Buffering` drops changes compares a value with the last that it has received itself.
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - areEqual: Whether the second value is no change after the first. Under no lock.
    @inlinable
    public func removingDuplicates(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        by areEqual: @escaping @Sendable (Value, Value) -> Bool
    ) -> Derived<Value> {
        Derived(fileID, line, areEqual: areEqual, namesSources: true) { [self] collector in
            if collector.outcome.isWeakening { return collector.weaken(only: self) { $0.finish($1, areEqual) } }
            collector.finish(collector.read(self), areEqual)
        }
    }
}

extension Derived {
    /// Of one property. Its function receives a value that was present; none of a mixture where that is a path's.
    @inlinable
    internal convenience init<Source: ObservableProperty>(
        _ file: StaticString,
        _ line: UInt,
        snapshotOf source: Source,
        _ finish: @escaping @Sendable (Collector, Source.Value) -> Void
    ) {
        self.init(file, line, namesSources: true) { collector in
            if collector.outcome.isWeakening { return collector.weaken(only: source) { finish($0, $1) } }
            collector.snapshot {
                let value = collector.read(source)
                return { finish(collector, value) }
            }
        }
    }

    /// Of two, whose values were present together.
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
                return collector.weaken(first, second, finish: finish)
            }
            collector.snapshot {
                let values = (collector.read(first), collector.read(second))
                return { finish(collector, values.0, values.1) }
            }
        }
    }
}
