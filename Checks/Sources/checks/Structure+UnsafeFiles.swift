// SPDX-License-Identifier: Apache-2.0

extension Structure {
    /// Where memory safety is argued by hand. A file that needs it is added here, in the change
    /// that needs it.
    static let unsafeFiles = Set(
        """
        Instrumentation/Exploration.swift
        Instrumentation/Instrumentation+Stress.swift
        Reclamation/CallbackAges.swift
        Reclamation/Diagnostics.swift
        Reclamation/EventCount.swift
        Reclamation/ForbiddenSections.swift
        Reclamation/Fork.swift
        Reclamation/ForkGate.swift
        Reclamation/FrameScan.swift
        Reclamation/KnownTypes.swift
        Reclamation/LibraryThread.swift
        Reclamation/Lock.swift
        Reclamation/PendingEvents.swift
        Reclamation/ProcessorClock.swift
        Reclamation/ReadSection.swift
        Reclamation/Reclaimer.swift
        Reclamation/Retirable.swift
        Reclamation/Spares.swift
        Reclamation/ThreadRecord+Passage.swift
        Reclamation/ThreadRecord+Retire.swift
        Reclamation/ThreadRecord.swift
        Registry/Callback.swift
        Registry/Flush.swift
        Registry/ObservationToken.swift
        Registry/Observer+Visit.swift
        Registry/Observer.swift
        Registry/ObserverList+Walk.swift
        Registry/ObserverList.swift
        Registry/ObserverTable.swift
        Registry/Quarantine.swift
        Registry/RegistryCore.swift
        Registry/TableContents.swift
        Registry/VersionedObserver.swift
        Property/MutationLock.swift
        Property/PropertyTypes.swift
        Property/ValueBox.swift
        Property/ValueCell.swift
        Property/ValueEncoding.swift
        Delivery/IsolatedCallback.swift
        Delivery/OrderedObservation.swift
        Delivery/Subscription.swift
        Delivery/Waiter.swift
        """.split(separator: "\n").map(String.init)
    )
}
