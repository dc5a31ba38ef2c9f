// SPDX-License-Identifier: Apache-2.0
//
// Requests change a limit; a queue and a task apply it. What they trace and log belongs to the
// request.

import ConcurrentObserve
import ConcurrentObserveTracing
import Dispatch
import InMemoryLogging
import InMemoryTracing
import Logging
import Tracing

let tracer = InMemoryTracer()
let handler = InMemoryLogHandler()
InstrumentationSystem.bootstrap(tracer)
LoggingSystem.bootstrap { _ in handler }

/// Binds the context of a request, as an HTTP server's middleware does.
@Sendable func handle(_ request: String, _ body: () -> Void) {
    withSpan(request, ofKind: .server) { _ in
        withLogger(Logger(label: "server")) { _ in
            withLogger(mergingMetadata: ["request": "\(request)"]) { _ in body() }
        }
    }
}

let limit = Observed(10)

// On a queue: a span for each delivery.
let token = limit.observe(
    delivery: .queue(DispatchQueue(label: "pool")),
    spanning("resize") { change in Logger.current.info("resized to \(change.new)") }
)

// In a task: the loop enters the context of each change.
let changes = limit.changes().withContext()
let isFollowing = Observed(false)
let follower = Task.detached {
    var iterator = changes.makeAsyncIterator()
    isFollowing.value = true
    while let change = await iterator.next() {
        await change.withContext { change in
            withSpan("store") { _ in Logger.current.info("stored \(change.new)") }
        }
    }
}
try await isFollowing.first { $0 }

handle("PUT /limit/20") { limit.value = 20 }
handle("PUT /limit/30") { limit.value = 30 }
await token.flush()
await changes.flush()
follower.cancel()
await token.cancelAndWait()

let spans = tracer.finishedSpans
for server in spans where server.kind == .server {
    let children = spans.filter { $0.parentSpanID == server.spanID }.map(\.operationName).sorted()
    print("\(server.operationName): \(children.joined(separator: ", "))")
}
for entry in handler.entries.sorted(by: { "\($0.message)" < "\($1.message)" }) {
    print("\(entry.message), of \(entry.metadata["request"] ?? "no request")")
}
