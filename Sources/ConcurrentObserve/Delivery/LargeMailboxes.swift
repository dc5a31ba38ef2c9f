// SPDX-License-Identifier: Apache-2.0

/// A mailbox in which many events wait for their observer, as a look at it found.
public struct LargeMailbox: Sendable, Identifiable {
    /// Identifies one mailbox.
    public struct ID: Sendable, Hashable {
        fileprivate let counter: ObjectIdentifier
    }

    /// The identity of the mailbox. All looks that find this mailbox have the same value.
    public let id: ID

    /// The label of the observation, or, if it has none, of the property or registry; nil if
    /// neither has one.
    public let label: String?

    /// The counts of the observer's events: `pending` of them wait.
    public let counts: DeliveryCounts
}

extension ConcurrentObserveDiagnostics {
    /// Returns the mailboxes in which most events wait, the largest first. A mailbox is listed if
    /// 1,024 or more events have waited in it, and some still wait.
    ///
    /// Any thread, also inside a callback; never waits for user code.
    ///
    /// - Parameter count: The largest number of mailboxes to return.
    /// - Precondition: `count` is not negative.
    /// - Complexity: O(large mailboxes).
    public static func largestMailboxes(_ count: Int = 10) -> [LargeMailbox] {
        guard count >= 0 else {
            fatalError(
                "ConcurrentObserve: largestMailboxes(\(count)) asks for a negative number of mailboxes. Ask for 0 or more."
            )
        }
        return LargeMailboxes.largest(count)
    }
}

/// The mailboxes that have become large and have not been empty since.
///
/// A mailbox looks at its size at each 1,024th event. If it is large, the thread that put that
/// event in lists it.
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
    /// The number of entries at which those of empty mailboxes are removed: twice the number that
    /// was left the last time.
    private var pruningCount = 64

    private init() {}

    /// Lists a mailbox, which is not retained. Any thread, under no lock.
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

    fileprivate static func largest(_ count: Int) -> [LargeMailbox] {
        let listed = withEntries { entries in
            prune(&entries)
            return Array(entries.values)
        }
        let present = listed.compactMap { entry in
            entry.counter.map {
                LargeMailbox(id: LargeMailbox.ID(counter: ObjectIdentifier($0)), label: entry.label, counts: $0.counts)
            }
        }
        return Array(present.sorted { $0.counts.pending > $1.counts.pending }.prefix(count))
    }

    /// Removes the mailboxes that are empty or gone. They are listed again when they grow.
    private static func prune(_ entries: inout [ObjectIdentifier: Entry]) {
        entries = entries.filter { $1.counter.map { $0.counts.pending > 0 } ?? false }
    }

    private static func withEntries<Result>(_ body: (inout [ObjectIdentifier: Entry]) -> Result) -> Result {
        shared.lock.withLock { body(&shared.entries) }
    }
}
