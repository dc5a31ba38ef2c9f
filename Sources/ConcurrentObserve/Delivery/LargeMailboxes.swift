// SPDX-License-Identifier: Apache-2.0

/// A mailbox in which many events wait for their observer, at the moment of the look.
public struct LargeMailbox: Sendable, Identifiable {
    /// Identifies one mailbox.
    public struct ID: Sendable, Hashable {
        fileprivate let counter: ObjectIdentifier
    }

    /// Every look that finds this mailbox has this value.
    public let id: ID

    /// The label of the observation, or, if that has none, of the property or registry; nil if neither has.
    public let label: String?

    /// What has become of the events that were sent to the observer: `pending` of them wait.
    public let counts: DeliveryCounts
}

extension ConcurrentObserveDiagnostics {
    /// The mailboxes in which most events wait, the largest first: of those in which 1,024 waited or more,
    /// and some still do.
    ///
    /// Any thread, also inside a callback; never waits for user code.
    ///
    /// - Parameter count: How many to return at most.
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

/// The mailboxes that have become large and not been emptied since.
///
/// A mailbox looks at its size at each 1,024th event, and is listed by the thread that has put that in.
@usableFromInline
internal final class LargeMailboxes: @unchecked Sendable {
    // Unchecked: `entries` is guarded by `lock`.
    private static let shared = LargeMailboxes()

    private struct Entry {
        weak let counter: DeliveryCounter?
        let label: String?
    }

    private let lock = ForkAwareLock()
    private var entries: [ObjectIdentifier: Entry] = [:]
    /// With so many entries those that are not large any more are removed: twice as many as were left the last time.
    private var pruningCount = 64

    private init() { Fork.hold(lock) {} }

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

    /// Removes those that are empty, or gone: they come back when they grow.
    private static func prune(_ entries: inout [ObjectIdentifier: Entry]) {
        entries = entries.filter { $1.counter.map { $0.counts.pending > 0 } ?? false }
    }

    private static func withEntries<Result>(_ body: (inout [ObjectIdentifier: Entry]) -> Result) -> Result {
        // Behind the gate: a thread that a fork catches in the middle of the first use would leave `shared` half made in the child.
        ForkGate.pass { shared.lock.withLock { body(&shared.entries) } }
    }
}
