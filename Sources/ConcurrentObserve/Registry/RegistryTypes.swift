// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension RegistryCore {
    /// Has the runtime make what this room needs of it, whatever is observed. Behind the fork gate;
    /// see `KnownTypes`.
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
        // Safe: types are named; nothing is pointed to.
        let types: [any (~Copyable).Type] = unsafe [
            ([Observer.OnEnd], (@Sendable () -> Void)?).self, (@Sendable () -> Void)?.self,
            Callback<Void>.self, RegistryCore?.self, Observer?.self, ObserverTable?.self, DeferredActions?.self,
            Unmanaged<ObserverTable>.self,
            (Unmanaged<ObserverTable>, ObserverTable?).self, UnsafePointer<Atomic<UInt>>?.self,
            Unmanaged<RegistryCore>.self, Unmanaged<Observer.Extras>.self, ObservationEnd?.self,
            // Of a debug build, which calls the standard library's generic functions.
            UnsafePointer<TableContents>?.self, UnsafeMutablePointer<TableEntry>.self,
            UnsafePointer<Atomic<UInt32>>?.self, UnsafePointer<UInt64>?.self,
        ]
        withExtendedLifetime(types) {}
    }
}
