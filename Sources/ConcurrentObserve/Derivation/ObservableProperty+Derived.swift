// SPDX-License-Identifier: Apache-2.0

extension ObservableProperty {
    /// Returns a derived value that `transform` computes from this property. Every result is a
    /// change. The derived value retains this property. See ``Derived``. (P22)
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock: at a read after a change of this property,
    ///     or at the change if the derived value is observed.
    @inlinable
    public func map<Other: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value) -> Other
    ) -> Derived<Other> {
        Derived(self, fileID: fileID, line: line, compute: transform)
    }

    /// Returns a derived value that `transform` computes from this property. A result that equals
    /// the previous one is no change. The derived value retains this property. See ``Derived``.
    /// (P22, P24)
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock: at a read after a change of this property,
    ///     or at the change if the derived value is observed.
    @inlinable
    public func map<Other: Sendable & Equatable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value) -> Other
    ) -> Derived<Other> {
        Derived(self, fileID: fileID, line: line, compute: transform)
    }

    /// Returns a derived value that `transform` computes from this property and another one, whose
    /// values were present together. Every result is a change. The derived value retains both. See
    /// ``Derived``. (P22)
    ///
    /// - Parameters:
    ///   - second: The other property.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock: at a read after a change of one of the
    ///     two, or at the change if the derived value is observed.
    @inlinable
    public func combine<Second: ObservableProperty, Other: Sendable>(
        _ second: Second,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value, Second.Value) -> Other
    ) -> Derived<Other> {
        Derived(self, second, fileID: fileID, line: line, compute: transform)
    }

    /// Returns a derived value that `transform` computes from this property and another one, whose
    /// values were present together. A result that equals the previous one is no change. The
    /// derived value retains both. See ``Derived``. (P22, P24)
    ///
    /// - Parameters:
    ///   - second: The other property.
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - transform: Runs on any thread, under no lock: at a read after a change of one of the
    ///     two, or at the change if the derived value is observed.
    @inlinable
    public func combine<Second: ObservableProperty, Other: Sendable & Equatable>(
        _ second: Second,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ transform: @escaping @Sendable (Value, Second.Value) -> Other
    ) -> Derived<Other> {
        Derived(self, second, fileID: fileID, line: line, compute: transform)
    }

    /// Returns a property that has this property's values, but leaves out a value if `areEqual`
    /// accepts it as equal to the last one kept. Each value is compared with the last one kept, not
    /// with the one before it, so a slow drift is noticed. The returned property is a derived
    /// value, has versions of its own, and retains this property.
    ///
    /// If an observer's `Buffering` drops changes, each value is compared with the last value that
    /// this observer received.
    ///
    /// - Parameters:
    ///   - fileID: The calling file, for the message about a derived value that needs itself.
    ///   - line: The calling line.
    ///   - areEqual: Returns whether the second value counts as equal to the first. Called under no
    ///     lock.
    @inlinable
    public func removingDuplicates(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        by areEqual: @escaping @Sendable (Value, Value) -> Bool
    ) -> some ObservableProperty<Value> {
        Derived(fileID, line, areEqual: areEqual, namesSources: true) { [self] collector in
            if collector.outcome.isWeakening {
                return collector.weaken(self, compute: { $0 }) { $0.finish($1, areEqual) }
            }
            collector.finish(collector.read(self), areEqual)
        }
    }
}
