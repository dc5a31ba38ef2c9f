// SPDX-License-Identifier: Apache-2.0

#if Tracing
import ConcurrentObserve
import ConcurrentObserveTesting
import ConcurrentObserveTracing
import Dispatch
import InMemoryTracing
import Testing
import Tracing

@Suite("Spans of deliveries", .leavesNothingBehind, .timeLimit(.minutes(1)))
struct SpanTests {
    @Test("Each delivery has one span, whose parent is the setter's", arguments: Place.allCases)
    func parents(place: Place) async throws {
        let tracer = InMemoryTracer()
        let property = Observed(0)
        let kept = place.observe(
            property,
            .unbounded,
            spanning("deliver", ofKind: .consumer, tracer: tracer) { _ in
                #expect(tracer.activeSpans.contains { $0.operationName == "deliver" })
            }
        )
        for value in 1...3 { tracer.withSpan("set \(value)") { _ in property.value = value } }
        property.value = 4
        await kept.flush()
        let spans = tracer.finishedSpans
        let deliveries = spans.filter { $0.operationName == "deliver" }
        let setters = (1...3).map { value in spans.first { $0.operationName == "set \(value)" }?.spanID }
        #expect(deliveries.map(\.parentSpanID) == setters + [nil])
        #expect(deliveries.allSatisfy { $0.kind == .consumer })
        #expect(tracer.activeSpans.isEmpty)
        await kept.end()
    }

    @Test("A callback of two parameters has a span, too")
    func twoParameters() async {
        let tracer = InMemoryTracer()
        let property = Observed(0)
        let token = property.observe(
            delivery: .queue(DispatchQueue(label: "q")),
            spanning("deliver", tracer: tracer) { (_: Change<Int>, observation: ObservationHandle) in
                observation.cancel()
            }
        )
        tracer.withSpan("set") { _ in property.value = 1 }
        await token.flush()
        await token.cancelAndWait()
        let spans = tracer.finishedSpans.sorted { $0.operationName < $1.operationName }
        #expect(spans.map(\.operationName) == ["deliver", "set"])
        #expect(spans.first?.parentSpanID == spans.last?.spanID)
    }
}
#endif
