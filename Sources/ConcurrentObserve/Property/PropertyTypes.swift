// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observed {
    /// Makes the types that properties of this type need at run time, except those for deliveries
    /// that are not inline. See `KnownTypes`.
    @usableFromInline
    internal static func makeTypes() {
        typealias Snapshot = (value: Value, version: UInt64)
        KnownTypes.make(for: ObjectIdentifier(Self.self)) {
            RegistryCore.makeTypes()
            makeConformance(Self.self)
            _ = ValueEncoding<Value>.mark
            _ = [.initial, .prior] as ObservationOptions
            _ = [.initial, .ofCombination, .ofBinding] as ObserverOptions
            // Safe: types are named; nothing is pointed to.
            return unsafe [
                ValueBox<Value>.self, ValueCell<Value>.self, ValueCell<Value>.Replaced.self, BoxedValue<Value>.self,
                (Value, UInt64).self, Snapshot.self, (exchanged: Bool, original: Value).self,
                (Snapshot, RegistryCore.DeferredActions).self,
                Change<Value>.self, LentChange<Value>.self, Callback<Change<Value>>.self, Callback<Value>.self,
                PropertyObserver<Value>.self, PropertyObserver<Value>.Form.self, CallbackForm<Change<Value>>.self,
                ChangeReceiver<Value>.self, HeldObject<ChangeReceiver<Value>>.self,
                ObserverKind<Callback<Change<Value>>>.self, LentObserver<Callback<Change<Value>>>.self,
                ObserverKind<HeldObject<ChangeReceiver<Value>>>.self,
                LentMailbox<Change<Value>>.self,
                // For debug builds, which call the standard library's generic functions.
                UnsafePointer<BoxedValue<Value>>?.self, UnsafeMutablePointer<Value>?.self,
                UnsafePointer<Callback<Change<Value>>>?.self,
                (Snapshot, RegistryCore.DeferredActions)?.self, Snapshot?.self, UnsafePointer<Atomic<UInt64>>.self,
            ]
        } size: {
            MemoryLayout<ValueCell<Value>>.size &+ MemoryLayout<ValueCell<Value>.Replaced>.size
                &+ MemoryLayout<BoxedValue<Value>>.size &+ MemoryLayout<(Value, UInt64)>.size
                &+ MemoryLayout<Snapshot>.size &+ MemoryLayout<(exchanged: Bool, original: Value)>.size
                &+ MemoryLayout<(Snapshot, RegistryCore.DeferredActions)>.size &+ MemoryLayout<Change<Value>?>.size
                &+ MemoryLayout<LentChange<Value>>.size
        }
    }
}

/// Makes what code for every kind of property asks the runtime for.
@inline(never) @_optimize(none)
private func makeConformance<Property: ObservableProperty>(_: Property.Type) { _ = Property.Value.self }
