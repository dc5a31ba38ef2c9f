// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveCollections
import Foundation
import Hummingbird
import ServiceLifecycle

extension Report: ResponseCodable {}

/// Returns what answers requests.
///
/// - Parameter clock: Measures how long a client waits for a service's health.
func routes(of board: Board, clock: some Clock<Duration> = ContinuousClock()) -> Router<BasicRequestContext> {
    let router = Router()

    router.get("services") { _, _ in
        Dictionary(uniqueKeysWithValues: board.reports.contents.value.map { ($0.key, $0.value) })
    }
    // Several services at once: no client sees half of them.
    router.patch("services") { request, context in
        let reports = try await request.decode(as: [String: Report].self, context: context)
        board.reports.contents.modify { contents in
            for (name, report) in reports { contents[name] = report }
        }
        return HTTPResponse.Status.noContent
    }
    router.get("services/:name") { _, context in
        guard let report = board.reports[try context.parameters.require("name")].value else {
            throw HTTPError(.notFound, message: "this service has not reported")
        }
        return report
    }
    router.put("services/:name") { request, context in
        let report = try await request.decode(as: Report.self, context: context)
        board.reports[try context.parameters.require("name")].value = report
        return HTTPResponse.Status.noContent
    }
    router.delete("services/:name") { _, context in
        board.reports[try context.parameters.require("name")].value = nil
        return HTTPResponse.Status.noContent
    }
    // Answers when the service has that health, or at the timeout.
    router.get("services/:name/until/:health") { request, context -> Report in
        let health: Health = try context.parameters.require("health", as: Health.self)
        let seconds = request.uri.queryParameters.get("seconds", as: Int.self) ?? 30
        do {
            return try await board.reports[context.parameters.require("name")]
                .first(timeout: .seconds(seconds), clock: clock) { $0?.health == health }!
        } catch let timeout as ObservationTimeout<Report?> {
            let last = timeout.lastValue??.health.rawValue ?? "none"
            throw HTTPError(.gatewayTimeout, message: "the last health was \(last)")
        }
    }

    router.get("health") { _, _ in board.health.value.rawValue }
    // Waits until the advice for the present health has come.
    router.get("advice") { _, _ in try await board.advice.result() }

    router.get("events") { request, _ in
        events(for: request) { send in
            var known: PersistentDictionary<String, Report> = [:]
            for await contents in board.contents.cancelOnGracefulShutdown() {
                try await send(Update(from: known, to: contents))
                known = contents
            }
        }
    }
    router.get("load") { request, _ in
        events(for: request) { send in
            let values = board.load.values(options: .initial, buffering: .latest)
            for await load in values.cancelOnGracefulShutdown() { try await send(load) }
        }
    }
    return router
}

/// Answers with server-sent events, until `produce` returns or the client goes.
private func events(
    for request: Request,
    _ produce: @escaping @Sendable ((any Encodable) async throws -> Void) async throws -> Void
) -> Response {
    Response(
        status: .ok,
        headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
        body: ResponseBody { writer in
            var output = writer
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await produce { event in
                    let data = try JSONEncoder().encode(event)
                    try await output.write(ByteBuffer(string: "data: \(String(decoding: data, as: UTF8.self))\n\n"))
                }
            }
            try await output.finish(nil)
        }
    )
}
