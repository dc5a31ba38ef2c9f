// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import ConcurrentObserveEtcd

/// An engine in memory, with all that a mirror asks of one: an example, and a server that breaks
/// when a test wants it.
final class MemoryEngine: MirrorEngine {
    static let name = "memory"

    typealias Values = [MirrorKey: MirrorItem]

    fileprivate struct Data: Sendable {
        var history: UInt64 = 1
        var revision: Int64 = 0
        /// The keys at each revision from `oldest` on.
        var states: [Int64: Values] = [0: [:]]
        var changes: [Int64: [MirrorItem]] = [:]
        /// Revisions that no watch reports.
        var leftOut: Set<Int64> = []
        var oldest: Int64 = 0
        var isDown = false
    }
    private let data = Observed(Data())

    // MARK: - What others do to it

    /// Changes keys in one revision; nil deletes one.
    ///
    /// - Parameter isLeftOut: Whether the watches do not report it, by a defect of the engine's.
    @discardableResult
    func commit(_ values: [MirrorKey: String?], isLeftOut: Bool = false) -> Int64 {
        data.modify { data in
            data.revision += 1
            if isLeftOut { data.leftOut.insert(data.revision) }
            let items = values.map { key, text in
                MirrorItem(key: key, value: text.map { Array($0.utf8) }, revision: data.revision)
            }
            var next = data.states[data.revision - 1]!
            for item in items { next[item.key] = item.value == nil ? nil : item }
            data.states[data.revision] = next
            data.changes[data.revision] = items
            return data.revision
        }
    }

    func compact() {
        data.modify { data in
            data.oldest = data.revision
            data.states = data.states.filter { $0.key >= data.oldest }
            data.changes = data.changes.filter { $0.key > data.oldest }
        }
    }

    func stop() { data.modify { $0.isDown = true } }
    func start() { data.modify { $0.isDown = false } }

    /// As after a restart with an empty disk.
    func loseEverything() {
        data.modify { data in
            let history = data.history + 1
            data = Data()
            data.history = history
        }
    }

    var revision: Int64 { data.value.revision }
    var values: Values { data.withValue { $0.states[$0.revision]! } }

    // MARK: - What the mirror asks of it

    func servers() -> [String] { ["here"] }

    func withSession(at server: String, _ body: @escaping @Sendable (Session) async throws -> Void) async throws {
        try await body(Session(data: data))
    }

    struct Session: MirrorSession {
        fileprivate let data: Observed<Data>

        private func present() throws -> Data {
            let data = data.value
            if data.isDown { throw MirrorError(.unreachable, "the engine is down") }
            return data
        }

        func list(at revision: Int64?, limit: Int, page: ([MirrorItem]) throws -> Void) async throws -> MirrorMoment {
            let data = try present()
            let revision = revision ?? data.revision
            if revision > data.revision { throw MirrorError(.revisionUnknown, "there is no revision \(revision)") }
            guard let values = data.states[revision] else { throw MirrorError(.revisionGone, "\(revision) is gone") }
            try page(Array(values.values))
            return MirrorMoment(revision: data.revision, history: data.history)
        }

        func watch(
            from revision: Int64,
            receive: @escaping @Sendable (MirrorMessage) async throws -> Void
        ) async throws {
            let history = try present().history
            try await receive(.started)
            var next = revision
            for await _ in data.changes(options: .initial, buffering: .latest) {
                let data = try present()
                if data.history != history { throw MirrorError(.unreachable, "the engine has lost its data") }
                if data.oldest >= next { throw MirrorError(.revisionGone, "\(next) is gone") }
                while next <= data.revision {
                    if !data.leftOut.contains(next) {
                        try await receive(.change(revision: next, data.changes[next]!))
                    }
                    next += 1
                }
            }
            throw CancellationError()
        }

        func probe() async throws -> MirrorMoment {
            let data = try present()
            return MirrorMoment(revision: data.revision, history: data.history)
        }
    }
}
#endif
