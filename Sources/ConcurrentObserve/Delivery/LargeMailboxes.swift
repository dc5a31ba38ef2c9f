// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// An observation that a check of the process has found: a callback of it runs for long, or many
/// events wait in its mailbox.
public struct ObservationReport: Sendable, Identifiable {
    internal enum Identity: Sendable, Hashable {
        case call(CallbackAges.Sighting)
        case mailbox(ObjectIdentifier)
    }
    internal let identity: Identity

    /// Identifies one call of a callback, or one mailbox. It is the same in every report of this
    /// call or this mailbox.
    public var id: some Hashable & Sendable { identity }

    /// The label of the observation, or, if that has none, of the property or registry; nil if
    /// neither has one. If the observation has ended, the label of its source may be missing.
    public let label: String?

    /// The time for which the callback has been seen running: a lower bound, counted from the first
    /// check that found it. Nil for a mailbox.
    public let age: Duration?

    /// The counts of the mailbox's events: `pending` of them wait. Nil for a running callback.
    public let counts: DeliveryCounts?
}

extension ConcurrentObserveDiagnostics {
    /// Returns the mailboxes with the most waiting events, the largest first. The library checks a
    /// mailbox at each 1,024th event that is put in. A mailbox is listed if a check found 1,024 or
    /// more waiting events, and some events still wait.
    ///
    /// Any thread, also inside a callback; never waits for user code.
    ///
    /// - Parameter count: The largest number of mailboxes to return.
    /// - Precondition: `count` is not negative.
    /// - Complexity: O(*n* log *n*), with *n* large mailboxes.
    public static func largestMailboxes(_ count: Int = 10) -> [ObservationReport] {
        guard count >= 0 else {
            fatalError(
                "ConcurrentObserve: largestMailboxes(\(count)) asks for a negative number of mailboxes. Ask for 0 or more."
            )
        }
        return LargeMailboxes.largest(count)
    }
}

/// The mailboxes that were found large. The list keeps a mailbox until a cleaning finds it empty.
///
/// A mailbox checks its size at each 1,024th event. If it is large, the thread that put that event
/// in adds the mailbox to the list.
@usableFromInline
internal final class LargeMailboxes: @unchecked Sendable {
    // Unchecked: `entries` is guarded by `lock`.
    private static let shared = LargeMailboxes()

    private struct Entry {
        weak let counter: DeliveryCounter?
        let label: String?
    }

    private let lock = Lock()
    private var entries: [ObjectIdentifier: Entry] = [:]
    /// When there are this many entries, those of empty mailboxes are removed. The next limit is
    /// twice the number that is left.
    private var pruningCount = 64

    private init() {}

    /// Lists the mailbox whose counts are in `counter`, and retains neither of the two. Any thread
    /// may call it, while it holds no lock.
    @usableFromInline @inline(never)
    static func note(_ counter: DeliveryCounter, label: String?) {
        PendingEvents.look()
        let label = label?.isEmpty == true ? nil : label
        withEntries { entries in
            if entries.count >= shared.pruningCount {
                prune(&entries)
                shared.pruningCount = max(64, 2 * entries.count)
            }
            entries[ObjectIdentifier(counter)] = Entry(counter: counter, label: label)
        }
    }

    fileprivate static func largest(_ count: Int) -> [ObservationReport] {
        let listed = withEntries { entries in
            prune(&entries)
            return Array(entries.values)
        }
        let present = listed.compactMap { entry in
            entry.counter.map { (id: ObjectIdentifier($0), label: entry.label, counts: $0.counts) }
        }
        return present.sorted { $0.counts.pending > $1.counts.pending }.prefix(count).map { id, label, counts in
            ObservationReport(identity: .mailbox(id), label: label, age: nil, counts: counts)
        }
    }

    /// Removes the mailboxes that are empty or gone. They are listed again when they grow.
    private static func prune(_ entries: inout [ObjectIdentifier: Entry]) {
        entries = entries.filter { $1.counter.map { $0.counts.pending > 0 } ?? false }
    }

    private static func withEntries<Result>(_ body: (inout [ObjectIdentifier: Entry]) -> Result) -> Result {
        shared.lock.withLock { body(&shared.entries) }
    }
}
