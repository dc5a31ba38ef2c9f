// SPDX-License-Identifier: Apache-2.0

extension Structure {
    /// Where memory safety is argued by hand, by room. A file that needs it is added here, in the
    /// change that needs it.
    static let unsafeFiles: Set<String> = {
        let rooms = [
            "Reclamation": """
            Box BoxPool CallbackAges DeinitWorker DeliveryContext Diagnostics EventCount
            FrameBlock FrameScan
            LibraryClock LibraryThread Lock Magazine Magazine+Sweeping MagazineReleases
            ObserverPool PendingEvents ProcessorClock ReadSection
            ReclamationThread ReclamationThread+Pass ReferenceRing Retirable
            RetiredItem RetiredReference ThreadRecord ThreadRecord+Counting
            ThreadRecord+Current ThreadRecord+Decision ThreadRecord+Frames ThreadRecord+Magazine
            ThreadRecord+Retire ThreadRecord+Ring
            ThreadRecords WeakReference
            """,
            "Registry": """
            ObservationToken Observer Observer+Content
            Observer+Core Observer+Extras Observer+Pool
            Observer+Visit ObserverKind ObserverList
            ObserverList+Walk ObserverTable
            RegistryCore RegistryCore+Ending RetiredTables
            TableContents VersionedObserver
            """,
            "Property": """
            MutationLock RunningBody SingleReference ValueBox ValueCell
            ValueEncoding
            """,
            "Transaction": """
            CarriedCommit Commit CommitReach Draft GroupMembers Lent Member MemberList MemberSlot
            Observed+CommitMember PropertyList Snapshots Transaction WeakObserved+Transaction
            """,
            "Binding": """
            BindingClaim
            """,
            "Delivery": """
            Flush IsolatedObservation
            OrderedObservation Subscription Waiter
            """,
            "Derivation": """
            DerivationCell DerivationCell+Committing
            Derived+Property Dependency DerivedCycle DerivedObservation DerivedResults
            EvaluationStack Reader DependencyCopies DependencySet
            """,
        ]
        return Set(
            rooms.flatMap { room, names in names.split(whereSeparator: \.isWhitespace).map { "\(room)/\($0).swift" } }
        )
    }()
}
