// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// An engine that keeps keys with values, and numbers its changes, as a mirror needs it.
///
/// A change has a *revision*: a number that grows from change to change. All keys that change in
/// one transaction have one revision. An engine that has revisions, and can list and watch, has
/// mirrors:
///
/// ```swift
/// let mirror = EngineMirror(following: engine, coding: .json)
/// ```
///
/// The mirror keeps the promises to its observers, whatever the engine: one revision is one change,
/// in order, none twice, none left out. It waits between attempts, and reports what is stale. The
/// engine only reads and reports.
///
/// An engine that has only its present keys sets ``keepsHistory`` to false. Then each list is one
/// change, which may cover several revisions.
public protocol MirrorEngine: Sendable {
    /// One of the servers that a session may use.
    associatedtype Server: Sendable & CustomStringConvertible
    associatedtype Session: MirrorSession

    /// The engine's name, in metrics and messages.
    static var name: String { get }

    /// Whether a watch can report what has changed since an earlier revision. True unless the
    /// engine says otherwise.
    ///
    /// If false, a watch that throws `revisionGone` is the signal that the keys have changed. The
    /// mirror then lists, at most once per ``MirrorConfiguration/listGap``, and watches again. It
    /// stays `ready` while it lists. It never asks for a revision of the past: comparisons are with
    /// the present keys.
    static var keepsHistory: Bool { get }

    /// Where sessions may go. The mirror takes one after another, and waits after the last.
    ///
    /// - Throws: `MirrorError` if the configuration cannot be used: the mirror's `run()` throws it.
    func servers() throws -> [Server]

    /// Lends a session for as long as the body runs. Then it ends.
    ///
    /// - Throws: `MirrorError` if there can be no session or the connection ends, and what the body
    ///   throws. The body ends only so.
    func withSession(
        at server: Server,
        _ body: @escaping @Sendable (Session) async throws -> Void
    ) async throws
}

extension MirrorEngine {
    public static var keepsHistory: Bool { true }
}

/// A connection to an engine. Every error that it throws is a ``MirrorError``, or a
/// `CancellationError` of its task.
///
/// The mirror calls the members from several tasks at once. It cancels the tasks of a session that
/// it ends; a call must end then. Each request has a limit, which is the engine's.
public protocol MirrorSession: Sendable {
    /// Lists the keys that were there at a revision, in pages, in any order, each once. No page is
    /// empty, or all are.
    ///
    /// - Parameters:
    ///   - revision: nil for the newest one; the call returns its number. An engine that keeps no
    ///     history knows no other.
    ///   - limit: With more keys than this the call throws `tooManyKeys`, if possible before it
    ///     reads them.
    ///   - page: To be called for each page.
    /// - Throws: `revisionGone`, if the engine no longer has the revision; `revisionUnknown`, if it
    ///   has never had it.
    func list(
        at revision: Int64?,
        limit: Int,
        page: ([MirrorItem]) throws -> Void
    ) async throws -> MirrorMoment

    /// Reports everything that changes from a revision on, itself included. Returns only by
    /// throwing.
    ///
    /// - Parameter receive: To be called for one message after another: first
    ///   ``MirrorMessage/started``. It throws what the watch has to throw.
    /// - Throws: `revisionGone`, if the engine no longer has all that comes after the revision. An
    ///   engine without history throws it as soon as it has this revision, or a later one.
    func watch(
        from revision: Int64,
        receive: @escaping @Sendable (MirrorMessage) async throws -> Void
    ) async throws

    /// Returns the engine's newest revision, whichever keys have it. It has to be the newest, and
    /// not one of a past that a separated server still serves.
    func probe() async throws -> MirrorMoment

    /// Returns the newest revision of the keys, and how many there are: from these the mirror sees
    /// whether keys have changed. It asks where the newest revision of all may be one of other
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

/// A key with its value, as a list or a change has it.
public struct MirrorItem: Sendable, Equatable {
    public let key: MirrorKey
    /// nil: the key was deleted. Lists have no such.
    public let value: [UInt8]?
    /// The revision that has brought the value.
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

/// The counts that an engine keeps of a key, each 0 if it does not count it.
public struct MirrorCounts: Sendable, Hashable {
    /// The revision that created the key.
    public var createRevision: Int64 = 0
    /// How often the key has been set since it was created.
    public var version: Int64 = 0
    /// The lease that the key ends with.
    public var lease: Int64 = 0

    public init() {}
}

/// A state of an engine.
public struct MirrorMoment: Sendable, Equatable {
    /// At least 1, if mirrors are to resume: 0 stands for no position.
    public let revision: Int64
    /// Identifies the data that the revision counts. Other data, as another cluster's, have another
    /// number, and revisions of different data do not compare.
    public let history: UInt64

    public init(revision: Int64, history: UInt64 = 0) {
        self.revision = revision
        self.history = history
    }
}

/// The newest revision of some keys, and how many there are.
public struct MirrorSummary: Sendable, Equatable {
    /// The revision at which the newest revision and the count were read.
    public let moment: MirrorMoment
    /// The newest of the revisions that have brought the present keys' values; 0 if there are no
    /// keys.
    public let newest: Int64
    /// How many keys there are.
    public let count: Int

    public init(moment: MirrorMoment, newest: Int64, count: Int) {
        self.moment = moment
        self.newest = newest
        self.count = count
    }
}

/// A report of a watch.
public enum MirrorMessage: Sendable, Equatable {
    /// The watch exists: nothing that changes from now on is left out.
    case started
    /// All changes of one revision. Each item has this revision.
    case change(revision: Int64, [MirrorItem])
    /// Nothing but what was reported has changed up to this revision, itself included.
    case complete(upTo: Int64)
}
#endif
