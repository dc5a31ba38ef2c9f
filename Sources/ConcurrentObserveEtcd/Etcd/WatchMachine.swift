// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A message of a watch, without what the mirror does not need.
struct WatchMessage: Sendable, Equatable {
    var watchID: Int64 = 0
    var headerRevision: Int64 = 0
    var isCreated = false
    var isCanceled = false
    var compactRevision: Int64 = 0
    var cancelReason = ""
    var isFragment = false
    var events: [MirrorItem] = []
}

/// Decides the meaning of a message, without a clock, a lock or a connection.
struct WatchMachine: Sendable {
    /// The watch id of answers to progress requests.
    static let broadcast: Int64 = -1

    let range: EtcdRange
    /// Whether an answer to a progress request never overtakes events.
    let trustsProgressAnswers: Bool
    private(set) var position: Int64
    private var watchID: Int64?
    /// The events of a revision whose end has not come yet.
    private var fragments: [MirrorItem] = []
    private var fragmentBytes = 0
    /// How many bytes these events may have together.
    private let maximumBytes: Int

    init(range: EtcdRange, position: Int64, trustsProgressAnswers: Bool, maximumBytes: Int = .max) {
        self.maximumBytes = maximumBytes
        self.range = range
        self.position = position
        self.trustsProgressAnswers = trustsProgressAnswers
    }

    /// Where the watch has to begin.
    var startRevision: Int64 { position + 1 }

    /// - Throws: `MirrorError` if the watch has ended, or the server broke a promise.
    mutating func receive(_ message: WatchMessage) throws -> [MirrorMessage] {
        if message.isCanceled {
            fragments = []
            if message.compactRevision > 0 {
                throw MirrorError(.revisionGone, "etcd has compacted revision \(message.compactRevision)")
            }
            throw MirrorError.ofEtcd(message.cancelReason)
        }
        if message.isCreated {
            guard watchID == nil, message.events.isEmpty else { throw violation("a watch was created twice") }
            watchID = message.watchID
            return [.started]
        }
        if message.watchID == Self.broadcast, message.events.isEmpty {
            return trustsProgressAnswers && fragments.isEmpty ? bookmark(message.headerRevision) : []
        }
        guard message.watchID == watchID else {
            throw violation("a message is of the unknown watch \(message.watchID)")
        }
        if message.events.isEmpty, !message.isFragment, fragments.isEmpty { return bookmark(message.headerRevision) }
        fragments += message.events
        guard message.isFragment else {
            defer { (fragments, fragmentBytes) = ([], 0) }
            return try revisions(of: fragments)
        }
        // The last revision may go on in the next part. Those before are whole.
        let last = fragments.last?.revision
        let begin = fragments.lastIndex { $0.revision != last }.map { $0 + 1 } ?? 0
        let whole = try revisions(of: Array(fragments[..<begin]))
        if begin > 0 {
            fragments.removeFirst(begin)
            fragmentBytes = fragments.reduce(0) { $0 + $1.size }
        } else {
            fragmentBytes += message.events.reduce(0) { $0 + $1.size }
        }
        guard fragmentBytes <= maximumBytes else {
            throw MirrorError(.tooLarge, "the events of one revision have more than \(maximumBytes) bytes")
        }
        return whole
    }

    private mutating func bookmark(_ revision: Int64) -> [MirrorMessage] {
        // A member that lags behind has a lower one.
        guard revision > position else { return [] }
        position = revision
        return [.complete(upTo: revision)]
    }

    private mutating func revisions(of events: [MirrorItem]) throws -> [MirrorMessage] {
        var messages: [MirrorMessage] = []
        var rest = events[...]
        var last = position
        while let revision = rest.first?.revision {
            guard revision > last else {
                throw violation("an event of revision \(revision) comes after revision \(last)")
            }
            let items = rest.prefix { $0.revision == revision }
            for item in items where !range.contains(item.key) {
                throw violation("the key '\(item.key)' is outside the range")
            }
            messages.append(.change(revision: revision, Array(items)))
            rest = rest.dropFirst(items.count)
            last = revision
        }
        position = last
        return messages
    }

    private func violation(_ message: String) -> MirrorError { MirrorError(.protocolViolation, message) }
}

extension MirrorItem {
    /// How many bytes of memory it takes, about: also events without a key or a value take some.
    fileprivate var size: Int { 128 + key.bytes.count + (value?.count ?? 0) }
}
#endif
