// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// An engine that keeps keys with values, and numbers its changes. A mirror follows it.
///
/// Each change has a *revision*: a number that grows from change to change. All keys that change in
/// one transaction have the same revision. A mirror can follow any engine that has revisions, and
/// can list and watch:
///
/// ```swift
/// let mirror = EngineMirror(following: engine, coding: .json)
/// ```
///
/// The mirror, and not the engine, keeps the promises to observers: each revision is one change, in
/// order, and none is left out or comes twice. The mirror also waits between attempts, and reports
/// that contents are stale. The engine only reads and reports.
///
/// If an engine has only its present keys, it sets ``keepsHistory`` to false. Then each list is one
/// change, and may cover several revisions.
public protocol MirrorEngine: Sendable {
    /// A server that a session may use.
    associatedtype Server: Sendable & CustomStringConvertible
    associatedtype Session: MirrorSession

    /// The engine's name in metrics and messages.
    static var name: String { get }

    /// Whether a watch can report the changes since an earlier revision. The default is true.
    ///
    /// If false, a watch throws `revisionGone` to signal that keys have changed. Then the mirror
    /// lists, at most once per ``MirrorConfiguration/listGap``, and watches again. It stays `ready`
    /// while it lists. It never asks for a past revision, and compares only with the present keys.
    static var keepsHistory: Bool { get }

    /// Returns the servers that a session may use. The mirror tries one after another, and pauses
    /// after the last one.
    ///
    /// - Throws: `MirrorError` if the configuration cannot be used. The mirror's `run()` then
    ///   throws the same error.
    func servers() throws -> [Server]

    /// Opens a session, and lends it to `body`. The session ends when `body` returns or throws.
    ///
    /// - Throws: `MirrorError` if there can be no session, or the connection ends. Otherwise the
    ///   error that `body` throws.
    func withSession(
        at server: Server,
        _ body: @escaping @Sendable (Session) async throws -> Void
    ) async throws
}

extension MirrorEngine {
    public static var keepsHistory: Bool { true }
}

/// A connection to an engine. Its members throw only ``MirrorError``, or `CancellationError` if
/// their task is cancelled.
///
/// The mirror calls the members from several tasks at once. To end a session, it cancels these
/// tasks. A call in a cancelled task must end. The engine sets the time limit of each request.
public protocol MirrorSession: Sendable {
    /// Lists all keys that existed at a revision, each once, in any order, in one or more pages. A
    /// page is empty only if there are no keys.
    ///
    /// - Parameters:
    ///   - revision: The revision to list, or nil for the newest one. An engine that keeps no
    ///     history can only list the newest one.
    ///   - limit: The largest number of keys. If there are more, the call throws `tooManyKeys`, if
    ///     possible before it reads them.
    ///   - page: Called with each page.
    /// - Returns: The revision that was listed.
    /// - Throws: `revisionGone` if the engine no longer has the revision. `revisionUnknown` if the
    ///   engine has not had it yet.
    func list(
        at revision: Int64?,
        limit: Int,
        page: ([MirrorItem]) throws -> Void
    ) async throws -> MirrorMoment

    /// Reports all changes from a revision on, this revision included. Runs until it throws.
    ///
    /// - Parameter receive: Called with one message after another, first with
    ///   ``MirrorMessage/started``. If it throws, the watch must end with the same error.
    /// - Throws: `revisionGone` if the engine no longer has all changes from the revision on. An
    ///   engine without history throws it as soon as it has this revision, or a later one.
    func watch(
        from revision: Int64,
        receive: @escaping @Sendable (MirrorMessage) async throws -> Void
    ) async throws

    /// Returns the engine's newest revision, which may belong to any key. It must not be an old
    /// revision that a server still reports while it is cut off from the others.
    func probe() async throws -> MirrorMoment

    /// Returns the newest revision of the keys, and their number. The mirror finds out from these
    /// whether its keys have changed. It asks if the engine's newest revision may belong to other
    /// keys.
    ///
    /// The default implementation makes the summary from a list.
    func summary() async throws -> MirrorSummary
}

extension MirrorSession {
    public func summary() async throws -> MirrorSummary {
        var (newest, count) = (Int64(0), 0)
        let moment = try await list(at: nil, limit: .max) { page in
            count += page.count
            newest = page.reduce(newest) { max($0, $1.revision) }
        }
        return MirrorSummary(moment: moment, newest: newest, count: count)
    }
}

/// A key with its value, as a list or a change reports it.
public struct MirrorItem: Sendable, Equatable {
    public let key: MirrorKey
    /// The value; nil if the key was deleted. In a list, each key has a value.
    public let value: [UInt8]?
    /// The revision that set the value, or deleted the key.
    public let revision: Int64
    /// The engine's other counts.
    public let counts: MirrorCounts

    public init(key: MirrorKey, value: [UInt8]?, revision: Int64, counts: MirrorCounts = MirrorCounts()) {
        self.key = key
        self.value = value
        self.revision = revision
        self.counts = counts
    }
}

/// The counts that an engine keeps for a key. Each is 0 if the engine does not keep it.
public struct MirrorCounts: Sendable, Hashable {
    /// The revision that created the key.
    public var createRevision: Int64 = 0
    /// The number of times that the key was set since it was created.
    public var version: Int64 = 0
    /// The lease whose end deletes the key.
    public var lease: Int64 = 0

    public init() {}
}

/// A state of an engine: its newest revision, and the data that the revision belongs to.
public struct MirrorMoment: Sendable, Equatable {
    /// The revision. It must be at least 1 if mirrors are to resume, because 0 means that there is
    /// no position.
    public let revision: Int64
    /// Identifies the data that the revision belongs to. Other data, such as another cluster's,
    /// have another number. Revisions of different data cannot be compared.
    public let history: UInt64

    public init(revision: Int64, history: UInt64 = 0) {
        self.revision = revision
        self.history = history
    }
}

/// The newest revision of some keys, and their number.
public struct MirrorSummary: Sendable, Equatable {
    /// The revision at which the newest revision and the count were read.
    public let moment: MirrorMoment
    /// The newest of the revisions that set the present keys' values; 0 if there are no keys.
    public let newest: Int64
    /// The number of keys.
    public let count: Int

    public init(moment: MirrorMoment, newest: Int64, count: Int) {
        self.moment = moment
        self.newest = newest
        self.count = count
    }
}

/// A message of a watch.
public enum MirrorMessage: Sendable, Equatable {
    /// The watch exists. It leaves out no change from now on.
    case started
    /// All changes of one revision. Each item has this revision.
    case change(revision: Int64, [MirrorItem])
    /// All changes up to this revision, itself included, have been reported.
    case complete(upTo: Int64)
}
#endif
