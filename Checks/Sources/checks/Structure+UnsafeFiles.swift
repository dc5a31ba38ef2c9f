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
            Box BoxPool CallbackAges DeinitWorker DeliveryContext Diagnostics EventCount
            ForbiddenSections Fork ForkGate FrameBlock FrameScan KnownTypes
            LibraryThread Lock Magazine Magazine+Sweeping MagazineReleases
            ObserverPool PendingEvents ProcessorClock ReadSection
            ReclamationThread ReclamationThread+Pass ReferenceRing Retirable
            RetiredItem RetiredReference ThreadRecord ThreadRecord+Counting
            ThreadRecord+Current ThreadRecord+Decision ThreadRecord+Frames ThreadRecord+Magazine
            ThreadRecord+Mutants ThreadRecord+Retire ThreadRecord+Ring
            ThreadRecords WeakReference
            """,
            "Registry": """
            ObservationToken Observer Observer+Content
            Observer+Core Observer+Extras Observer+Mutants Observer+Pool
            Observer+Visit ObserverKind ObserverList ObserverList+Mutants
            ObserverList+Walk ObserverTable ObserverTable+Mutants
            Quarantine RegistryCore RegistryCore+Ending RetiredTables
            RegistryCore+Mutants RegistryTypes TableContents VersionedObserver
            """,
            "Property": """
            ChangeStamps MutationLock PropertyTypes SingleReference ValueBox ValueCell
            ValueCell+Mutants ValueEncoding
            """,
            "Transaction": """
            CarriedCommit Commit CommitReach Draft GroupMembers Lent Member MemberList MemberSlot
            Observed+CommitMember PropertyList Snapshots Snapshots+Mutants Transaction WeakObserved+Transaction
            """,
            "Binding": """
            BindingClaim
            """,
            "Delivery": """
            Flush IsolatedObservation IteratorSource+Mutants
            OrderedObservation Subscription Waiter
            """,
            "Derivation": """
            Collector Collector+Reading DerivationCell
            DerivationCell+Evaluating DerivationCell+Replacing DerivationPlace Derived+Property
            DerivedObservation DerivedResults EvaluationStack Group+Derivation SourceSet SourceWords StepWords VersionBuffer
            """,
        ]
        return Set(
            rooms.flatMap { room, names in names.split(whereSeparator: \.isWhitespace).map { "\(room)/\($0).swift" } }
        )
    }()
}
