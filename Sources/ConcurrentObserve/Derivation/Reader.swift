// SPDX-License-Identifier: Apache-2.0

/// Reads properties in the function of a derived value: `get(property)`.
///
/// The derived value follows what is read with the reader. It does not follow what the function
/// reads as `property.value`. The reader cannot be kept beyond the call, and traps on another
/// thread.
public struct Reader: ~Copyable {
    @usableFromInline internal let collector: Collector

    internal init(_ collector: Collector) { self.collector = collector }

    /// Returns the value of a property of any kind. Never waits; evaluates a derived value that is
    /// not current.
    @inlinable
    public borrowing func callAsFunction<Property: ObservableProperty>(_ property: Property) -> Property.Value {
        collector.trapElsewhere()
        return collector.read(property)
    }
}

extension Collector {
    /// Runs the function of a derived value with a reader. Not inlinable: the compiler of Swift 6.3
    /// crashes if it inlines code that makes a noncopyable value which holds a reference.
    @usableFromInline @inline(never) @_semantics("optimize.no.crossmodule")
    internal func run<Value, Failure: Error>(
        _ compute: (borrowing Reader) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try compute(Reader(self))
    }
}

// MARK: - Misuse

extension Collector {
    /// Traps if the caller is not the evaluating thread: two threads would change the collection at
    /// once.
    @usableFromInline
    func trapElsewhere() {
        guard ThreadRecord.ownAddress != thread else { return }
        fatalError(
            "ConcurrentObserve: the function of a derived value has handed its reader to another thread. Read on the thread that runs the function, and hand on the values."
        )
    }

    /// Traps on another thread, and if the function's run number `run` has ended.
    @usableFromInline
    func trapOutside(run: Int) {
        trapElsewhere()
        guard outcome.run != run else { return }
        fatalError(
            "ConcurrentObserve: the function of a derived value has kept a followed model beyond its run. Follow the model again in each run, or keep what 'unfollowed(_:)' gives."
        )
    }
}
