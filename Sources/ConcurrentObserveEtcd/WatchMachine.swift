// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// One key's change, or its present state in a list.
struct KeyEvent: Sendable, Equatable {
    let key: EtcdKey
    /// nil: the key was deleted.
    let value: [UInt8]?
    let modRevision: Int64
    let createRevision: Int64
    let version: Int64
    let lease: Int64
}

/// All changes of a range in one revision.
struct RevisionEvents: Sendable, Equatable {
    let revision: Int64
    var events: [KeyEvent]
}

/// A message of a watch, without what the mirror does not need.
struct WatchMessage: Sendable, Equatable {
    var watchID: Int64 = 0
    var headerRevision: Int64 = 0
    var isCreated = false
    var isCanceled = false
    var compactRevision: Int64 = 0
    var cancelReason = ""
    var isFragment = false
    var events: [KeyEvent] = []
}

/// What a message means, decided without a clock, a lock or a connection.
struct WatchMachine: Sendable {
    enum Output: Sendable, Equatable {
        case created
        /// To be published as one change; the position is its revision then.
        case revision(RevisionEvents)
        /// Nothing of the range changes up to this revision: the position is it.
        case bookmark(Int64)
        /// The watch has ended: the revisions after the position are compacted up to this one.
        case compacted(Int64)
    }

    /// What answers to progress requests carry as watch id.
    static let broadcast: Int64 = -1

    let range: EtcdRange
    /// Whether an answer to a progress request never overtakes events.
    let trustsProgressAnswers: Bool
    private(set) var position: Int64
    private var watchID: Int64?
    private var fragments: [KeyEvent] = []
    private var fragmentBytes = 0
    /// How many bytes the fragments of one message may have together.
    private let maximumBytes: Int

    init(range: EtcdRange, position: Int64, trustsProgressAnswers: Bool, maximumBytes: Int = .max) {
        self.maximumBytes = maximumBytes
        self.range = range
        self.position = position
        self.trustsProgressAnswers = trustsProgressAnswers
    }

    /// Where the watch has to begin.
    var startRevision: Int64 { position + 1 }

    /// - Throws: `EtcdMirrorError` if the watch has ended otherwise than by compaction, or the server broke a promise.
    mutating func receive(_ message: WatchMessage) throws -> [Output] {
        if message.isCanceled {
            fragments = []
            if message.compactRevision > 0 { return [.compacted(message.compactRevision)] }
            throw EtcdMirrorError.ofEtcd(message.cancelReason)
        }
        if message.isCreated {
            guard watchID == nil, message.events.isEmpty else { throw violation("a watch was created twice") }
            watchID = message.watchID
            return [.created]
        }
        if message.watchID == Self.broadcast, message.events.isEmpty {
            return trustsProgressAnswers && fragments.isEmpty ? bookmark(message.headerRevision) : []
        }
        guard message.watchID == watchID else {
            throw violation("a message is of the unknown watch \(message.watchID)")
        }
        if message.events.isEmpty, !message.isFragment, fragments.isEmpty { return bookmark(message.headerRevision) }
        fragments += message.events
        if message.isFragment {
            fragmentBytes += message.events.reduce(0) { $0 + $1.key.bytes.count + ($1.value?.count ?? 0) }
            guard fragmentBytes <= maximumBytes else { throw violation("the fragments of one message are too many") }
            return []
        }
        defer { (fragments, fragmentBytes) = ([], 0) }
        return try revisions(of: fragments)
    }

    private mutating func bookmark(_ revision: Int64) -> [Output] {
        // A member that lags behind has a lower one.
        guard revision > position else { return [] }
        position = revision
        return [.bookmark(revision)]
    }

    private mutating func revisions(of events: [KeyEvent]) throws -> [Output] {
        var revisions: [RevisionEvents] = []
        for event in events {
            guard range.contains(event.key) else { throw violation("the key '\(event.key)' is outside the range") }
            if event.modRevision == revisions.last?.revision {
                revisions[revisions.count - 1].events.append(event)
            } else {
                let last = revisions.last?.revision ?? position
                guard event.modRevision > last else {
                    throw violation("an event of revision \(event.modRevision) comes after revision \(last)")
                }
                revisions.append(RevisionEvents(revision: event.modRevision, events: [event]))
            }
        }
        if let last = revisions.last { position = last.revision }
        return revisions.map(Output.revision)
    }

    private func violation(_ message: String) -> EtcdMirrorError { EtcdMirrorError(.protocolViolation, message) }
}
#endif
