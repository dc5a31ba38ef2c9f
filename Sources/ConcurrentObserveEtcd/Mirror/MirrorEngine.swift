// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// What a mirror needs of an engine that keeps keys with values, and numbers its changes.
///
/// A change has a *revision*: a number that grows from change to change. All keys that change in one transaction have one revision. An engine
/// that has revisions, and can list, watch and resume, has mirrors:
///
/// ```swift
/// let mirror = EngineMirror(following: engine, coding: .json)
/// ```
///
/// The mirror keeps the promises to its observers, whatever the engine: one revision is one change, in order, none twice, none left out. It
/// waits between attempts, and reports what is stale. The engine only reads and reports.
public protocol MirrorEngine: Sendable {
    /// One of the servers that a session may use.
    associatedtype Server: Sendable & CustomStringConvertible
    associatedtype Session: MirrorSession

    /// The engine's name, in metrics and messages.
    static var name: String { get }

    /// Where sessions may go. The mirror takes one after another, and waits after the last.
    ///
    /// - Throws: `MirrorError` if the configuration cannot be used: the mirror's `run()` throws it.
    func servers() throws -> [Server]

    /// Lends a session for as long as the body runs. Then it ends.
    ///
    /// - Throws: `MirrorError` if there can be no session or the connection ends, and what the body throws. The body ends only so.
    func withSession(
        at server: Server,
        _ body: @escaping @Sendable (Session) async throws -> Void
    ) async throws
}

/// A connection to an engine. Every error that it throws is a ``MirrorError``, or a `CancellationError` of its task.
///
/// The mirror calls the members from several tasks at once. It cancels the tasks of a session that it ends; a call must end then. Each request
/// has a limit, which is the engine's.
public protocol MirrorSession: Sendable {
    /// Lists the keys that were there at a revision, in pages, in any order, each once. No page is empty, or all are.
    ///
    /// - Parameters:
    ///   - revision: nil for the newest one, of which the call returns the number. An engine that keeps no history knows no other.
    ///   - limit: With more keys than this it throws `tooManyKeys`, if it can before it reads them.
    ///   - page: To be called for each page.
    /// - Throws: `revisionGone`, if the engine no longer has the revision; `revisionUnknown`, if it has never had it.
    func list(
        at revision: Int64?,
        limit: Int,
        page: ([MirrorItem]) throws -> Void
    ) async throws -> MirrorMoment

    /// Reports everything that changes from a revision on, itself included. Returns only by throwing.
    ///
    /// - Parameter receive: To be called for one message after another: first ``MirrorMessage/started``. It throws what the watch has to throw.
    /// - Throws: `revisionGone`, if the engine no longer has all that comes after the revision.
    func watch(
        from revision: Int64,
        receive: @escaping @Sendable (MirrorMessage) async throws -> Void
    ) async throws

    /// Returns when the engine has confirmed that this session sees what is newest, and not a past that a separated server still serves.
    func probe() async throws
}

/// A key with its value, as a list or a change has it.
public struct MirrorItem: Sendable, Equatable {
    public let key: MirrorKey
    /// nil: the key was deleted. Lists have no such.
    public let value: [UInt8]?
    /// The revision that has brought the value.
    public let revision: Int64
    /// What else the engine counts.
    public let counts: MirrorCounts

    public init(key: MirrorKey, value: [UInt8]?, revision: Int64, counts: MirrorCounts = MirrorCounts()) {
        self.key = key
        self.value = value
        self.revision = revision
        self.counts = counts
    }
}

/// What an engine counts of a key, each 0 if it does not.
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
    public let revision: Int64
    /// Which data the revision is of. Other data, such as those of another cluster, have other numbers: their revisions do not compare.
    public let history: UInt64

    public init(revision: Int64, history: UInt64 = 0) {
        self.revision = revision
        self.history = history
    }
}

/// What a watch reports.
public enum MirrorMessage: Sendable, Equatable {
    /// The watch exists: nothing that changes from now on is left out.
    case started
    /// All changes of one revision, which is that of each item.
    case change(revision: Int64, [MirrorItem])
    /// Nothing but what was reported has changed up to this revision, itself included.
    case complete(upTo: Int64)
}
#endif
