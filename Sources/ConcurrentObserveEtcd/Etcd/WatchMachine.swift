// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// A message of etcd's watch, reduced to the parts that the mirror needs.
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

/// Translates etcd's messages of one watch into messages for the mirror. It uses no clock, no lock
/// and no connection.
struct WatchMachine: Sendable {
    /// The watch ID of the answers to progress requests.
    static let broadcast: Int64 = -1

    let range: EtcdRange
    /// Whether an answer to a progress request never overtakes events.
    let trustsProgressAnswers: Bool
    private(set) var position: Int64
    private var watchID: Int64?
    /// The events of the latest revision, if more events of this revision may come.
    private var fragments: [MirrorItem] = []
    private var fragmentBytes = 0
    /// The largest total size of `fragments`, in bytes.
    private let maximumBytes: Int

    init(range: EtcdRange, position: Int64, trustsProgressAnswers: Bool, maximumBytes: Int = .max) {
        self.maximumBytes = maximumBytes
        self.range = range
        self.position = position
        self.trustsProgressAnswers = trustsProgressAnswers
    }

    /// The revision with which the watch has to begin.
    var startRevision: Int64 { position + 1 }

    /// Takes a message of etcd, and returns the messages for the mirror.
    ///
    /// - Throws: `MirrorError` if the watch has ended, a revision is too large, or the server broke
    ///   a promise.
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
        // The next fragment may continue the last revision. The earlier revisions are complete.
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
        // A member that lags behind reports a lower revision.
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
    /// The memory that the item takes, in bytes, approximately. An event without key and value
    /// takes some, too.
    fileprivate var size: Int { 128 + key.bytes.count + (value?.count ?? 0) }
}
#endif
