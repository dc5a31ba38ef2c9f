// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension RegistryCore {
    /// Makes the runtime create the types that this room needs, whatever is observed. Called inside
    /// the fork gate; see `KnownTypes`.
    @usableFromInline
    static func makeTypes() {
        OwnerWatch.makeTypes()
        _ = ([] as ObserverMark).union(.versioned)
        for observer in [Observer]() where observer.hasLostOwner {}
        _ = distinctCount([])
        var listeners: [Observer.OnEnd] = []
        listeners.append { _ in }
        for listener in listeners where !listeners.isEmpty { listener(.cancelled) }
        ObservationBag().cancelAllAndWaitBlocking()
        for token in [ObservationToken]() { token.cancel() }
        // Safe: the types are only named; there are no pointers.
        let types: [any (~Copyable).Type] = unsafe [
            ([Observer.OnEnd], (@Sendable () -> Void)?).self, (@Sendable () -> Void)?.self,
            Callback<Void>.self, RegistryCore?.self, Observer?.self, ObserverTable?.self, DeferredActions?.self,
            Unmanaged<ObserverTable>.self,
            (Unmanaged<ObserverTable>, ObserverTable?).self, UnsafePointer<Atomic<UInt>>?.self,
            Unmanaged<RegistryCore>.self, Unmanaged<Observer.Extras>.self, ObservationEnd?.self,
            // Types of a debug build, which calls the standard library's generic functions.
            UnsafePointer<TableContents>?.self, UnsafeMutablePointer<TableEntry>.self,
            UnsafePointer<Atomic<UInt32>>?.self, UnsafePointer<UInt64>?.self,
        ]
        withExtendedLifetime(types) {}
    }
}
