// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import HTTPEdge
import Hummingbird
import Metrics

/// `GET /flags`, `PATCH /flags`, `GET /flags/{name}`, `PUT /flags/{name}`, `GET /events`,
/// `GET /source`, and `GET /readyz`.
///
/// Answers have the version as their entity tag. A change with `If-Match` is refused, 412, if
/// another has come before it. No client receives an older version than it has seen, at this server
/// or another: the server asks the source, but not for a client that says by `If-None-Match` what
/// it has seen. `Cache-Control: max-stale` accepts what this server has.
struct FlagRoutes: Sendable {
    let flags: FeatureFlags
    let source: FlagSource
    /// The age of the flags at which `/readyz` says that the server is not ready.
    let staleLimit: Duration
    let stream: EventStream
    /// Measures the time of a change until this server shows it.
    let changes: Timer

    func add(to router: Router<EdgeContext>) {
        router.stream("events") { request, send in
            let seen = request.lastEventID.flatMap(source.version)
            try await stream.run(after: seen) { event in try await send(event.encoded) }
        }
        router.read("source") { _, _ in source.state() }
        router.read("readyz") { _, _ in
            EditedResponse(status: isReady ? .ok : .serviceUnavailable, response: source.state())
        }
        router.group("flags")
            .read { request, context in try await read(request, context) { flags.snapshot } }
            .patch { request, _ in
                // All names and values are checked before anything is changed.
                let form = #"{"dark-mode": {"enabled": true, "rollout": 25}, "maintenance": {"enabled": false}}"#
                let given = try await request.decoded(as: [String: Flag].self, upTo: bodyLimit, form: form)
                guard !given.isEmpty else { throw HTTPError(.badRequest, message: "the body names no flag") }
                var changes: [Flag.Name: Flag] = [:]
                for (name, flag) in given { changes[try self.name(name)] = flag }
                try await change(changes, nil, request)
                return try answer(flags.snapshot)
            }
            .read(":name") { request, context in
                let name = try name(context.name)
                return try await read(request, context) { flags[name].value }
            }
            .put(":name") { request, context in
                let name = try name(context.name)
                let form = #"{"enabled": true, "rollout": 25}, rollout from 0 to 100 or left out"#
                let flag = try await request.decoded(as: Flag.self, upTo: bodyLimit, form: form)
                try await change([name: flag], name, request)
                // The present flag has this change, or a later one.
                return try answer(flags[name].value)
            }
    }

    private let bodyLimit = 1_024

    private var isReady: Bool {
        source.hasFlags.value && Duration.seconds(source.state().staleSeconds ?? 0) <= staleLimit
    }

    /// Makes the changes. Returns after the callbacks of inline observers have returned. The
    /// changes are then in the mailboxes of the streams.
    private func change(_ flags: [Flag.Name: Flag], _ name: Flag.Name?, _ request: Request) async throws {
        let begin = ContinuousClock.now
        let condition = request.expectedTags.map { tags in
            WriteCondition(name: name, versions: Set(tags.compactMap(source.version)))
        }
        // A writer that has read at another server is not stale.
        if let seen = condition?.versions.max() { try await reach(seen) }
        do {
            try await source.change(flags, condition)
        } catch is StaleWriter {
            throw HTTPError(.preconditionFailed, message: "nothing was changed: another change has come before")
        } catch let error as SourceUnavailable {
            throw HTTPError(.serviceUnavailable, message: error.message)
        }
        changes.recordNanoseconds(Int64(begin.duration(to: .now) / .nanoseconds(1)))
    }

    private func name(_ given: String) throws -> Flag.Name {
        guard let name = Flag.Name(rawValue: given) else {
            let known = Flag.Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.notFound, message: "no flag has the name '\(given)'; there are \(known)")
        }
        return name
    }

    /// Answers 304 if the client has the present version.
    private func read<Content: Versioned>(
        _ request: Request,
        _ context: EdgeContext,
        _ content: () -> Content
    ) async throws -> Response {
        let seen = request.knownTags.compactMap(source.version)
        if source.hasFlags.value, !request.acceptsStale { try await reach(seen.max()) }
        let content = content()
        let answer = try answer(content)
        if seen.contains(content.version) { return Response(status: .notModified, headers: answer.headers) }
        return try answer.response(from: request, context: context)
    }

    /// Waits for the version that the client has seen; nil if the client does not name one.
    private func reach(_ version: UInt64?) async throws {
        if await source.reach(version) { return }
        let message =
            version.map { "this server is behind version \($0), which the client has seen" }
            ?? "\(source.state().source) does not confirm the flags: 'Cache-Control: max-stale' accepts older ones"
        throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: message)
    }

    private func answer<Content: Versioned>(_ content: Content) throws -> EditedResponse<Content> {
        guard source.hasFlags.value else {
            let state = source.state()
            let message = "there were no flags from \(state.source) yet: \(state.error ?? state.state)"
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"], message: message)
        }
        // Browsers keep the answer, and ask each time whether it is still the present one.
        let headers: HTTPFields = [.eTag: "\"\(source.tag(content.version))\"", .cacheControl: "no-cache"]
        return EditedResponse(headers: headers, response: content)
    }
}

/// A response with a version, which is in its entity tag.
private protocol Versioned: ResponseGenerator { var version: UInt64 { get } }

extension FlagState: Versioned {}
extension FlagSnapshot: Versioned {}
