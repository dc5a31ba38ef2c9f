// SPDX-License-Identifier: Apache-2.0

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
