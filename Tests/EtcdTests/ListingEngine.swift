// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import ConcurrentObserveEtcd
import ConcurrentObserveTesting

/// An engine that keeps no history: it has its present keys, and says that they have changed.
final class ListingEngine: MirrorEngine {
    static let name = "listing"
    static let keepsHistory = false

    struct List: Sendable {
        let begin: ManualClock.Instant
        let end: ManualClock.Instant
    }

    fileprivate struct Data: Sendable {
        var revision: Int64 = 1
        var history: UInt64 = 1
        var items: [MirrorKey: MirrorItem] = [:]
        /// How many lists find that the keys change between their pages.
        var disturbed = 0
        var lists: [List] = []
        /// How often a mirror has asked for a revision of the past.
        var asked = 0
    }
    private let data = Observed(Data())
    /// Measures when a list begins and ends.
    private let clock: ManualClock

    init(clock: ManualClock) { self.clock = clock }

    /// - Parameter isHidden: Whether the revision stays what it is, by a defect of the engine's.
    func set(_ values: [MirrorKey: String], isHidden: Bool = false) {
        data.modify { data in
            if !isHidden { data.revision += 1 }
            for (key, text) in values {
                data.items[key] = MirrorItem(key: key, value: Array(text.utf8), revision: data.revision)
            }
        }
    }

    /// As after a restart with other data.
    func replaceEverything(revision: Int64, history: UInt64, _ text: String) {
        data.modify { data in
            (data.revision, data.history) = (revision, history)
            data.items = ["new": MirrorItem(key: "new", value: Array(text.utf8), revision: revision)]
        }
    }

    func disturb(_ count: Int) { data.modify { $0.disturbed = count } }

    var isDisturbed: Bool { data.value.disturbed > 0 }
    var lists: [List] { data.value.lists }
    var asked: Int { data.value.asked }

    func servers() -> [String] { ["here"] }

    func withSession(at server: String, _ body: @escaping @Sendable (Session) async throws -> Void) async throws {
        try await body(Session(data: data, clock: clock))
    }

    struct Session: MirrorSession {
        fileprivate let data: Observed<Data>
        fileprivate let clock: ManualClock

        func list(at revision: Int64?, limit: Int, page: ([MirrorItem]) throws -> Void) async throws -> MirrorMoment {
            let begin = clock.now
            if revision != nil { data.modify { $0.asked += 1 } }
            let isDisturbed = data.modify { data in
                defer { data.disturbed = max(0, data.disturbed - 1) }
                return data.disturbed > 0
            }
            if isDisturbed { throw MirrorError(.revisionGone, "a key has changed between two pages") }
            let present = data.value
            if let revision, revision != present.revision { throw MirrorError(.revisionGone, "there is no history") }
            try page(Array(present.items.values))
            data.modify { $0.lists.append(List(begin: begin, end: clock.now)) }
            return MirrorMoment(revision: present.revision, history: present.history)
        }

        func watch(from next: Int64, receive: @escaping @Sendable (MirrorMessage) async throws -> Void) async throws {
            try await receive(.started)
            for await change in data.changes(options: .initial, buffering: .latest) where change.new.revision >= next {
                throw MirrorError(.revisionGone, "the keys have changed")
            }
            throw CancellationError()
        }

        func probe() -> MirrorMoment {
            let present = data.value
            return MirrorMoment(revision: present.revision, history: present.history)
        }
    }
}
#endif
