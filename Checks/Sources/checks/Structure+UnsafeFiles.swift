// SPDX-License-Identifier: Apache-2.0

extension Structure {
    /// Where memory safety is argued by hand, by room. A file that needs it is added here, in the
    /// change that needs it.
    static let unsafeFiles: Set<String> = {
        let rooms = [
            "Instrumentation": """
            Exploration Instrumentation+Stress
            """,
            "Reclamation": """
            CallbackAges DeliveryContext Diagnostics EventCount ForbiddenSections Fork ForkGate
            FrameBlock FrameScan KnownTypes LibraryThread Lock ObserverPool
            PendingEvents ProcessorClock ReadSection ReclamationThread
            ReclamationThread+Pass Retirable RetiredItem ThreadRecord
            ThreadRecord+Counting ThreadRecord+Current ThreadRecord+Frames
            ThreadRecord+Mutants ThreadRecord+Retire ThreadRecords
            """,
            "Registry": """
            Callback DeferredEnds ObservationToken Observer Observer+Content
            Observer+Core Observer+Extras Observer+Mutants Observer+Pool
            Observer+Visit ObserverKind ObserverList ObserverList+Mutants
            ObserverList+Walk ObserverTable ObserverTable+Mutants
            Quarantine RegistryCore RegistryCore+Ending RetiredTables
            RegistryCore+Mutants RegistryTypes TableContents VersionedObserver
            """,
            "Property": """
            MutationLock PropertyTypes ValueBox ValueCell ValueEncoding
            """,
            "Delivery": """
            Flush IsolatedObservation IteratorSource+Mutants
            OrderedObservation Subscription Waiter
            """,
        ]
        return Set(
            rooms.flatMap { room, names in names.split(whereSeparator: \.isWhitespace).map { "\(room)/\($0).swift" } }
        )
    }()
}
