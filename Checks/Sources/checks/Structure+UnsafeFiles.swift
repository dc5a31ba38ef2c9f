// SPDX-License-Identifier: Apache-2.0

extension Structure {
    /// The files in which memory safety is argued by hand, by room. A change that adds such a file
    /// also adds it here.
    static let unsafeFiles: Set<String> = {
        let rooms = [
            "Platform": """
            CurrentThread EventCount LibraryThread Lock SwiftRuntime
            """,
            "Hazards": """
            CallbackAges Frame FrameScan PendingEvents ReadSection
            ThreadRecord+Current ThreadRecord+Frames ThreadRecord ThreadRecords WeakReference
            """,
            "Reclamation": """
            Box BoxPool Diagnostics Magazine+Sweeping Magazine MagazineReleases ObserverPool
            ReclamationThread+Pass ReclamationThread ReferenceRing Retirable RetiredReference
            ThreadRecord+Magazine ThreadRecord+Retire ThreadRecord+Ring
            """,
            "Registry": """
            DeferredEnds ObservationToken Observer+Content Observer+Extras Observer+Pool
            Observer+Visit Observer ObserverKind ObserverList+Walk ObserverList ObserverTable
            RegistryCore+Ending RegistryCore TableContents
            """,
            "Property": """
            DeliveryScope MutationLock RunningBody ValueCell ValueEncoding ValueMark
            """,
            "Transaction": """
            Commit CommitReach GroupMembers Joining Member MemberList Observed+CommitMember
            PropertyList Snapshots Transaction
            """,
            "Binding": """
            Propagation
            """,
            "Delivery": """
            DeliveryIsolation Flush OrderedObservation SharedMailbox Subscription
            """,
            "Derivation": """
            Dependency DependencyCopies DependencySet DerivationNode+Committing DerivationNode
            DerivedCycle DerivedObservation EvaluationStack
            """,
        ]
        return Set(
            rooms.flatMap { room, names in names.split(whereSeparator: \.isWhitespace).map { "\(room)/\($0).swift" } }
        )
    }()
}
