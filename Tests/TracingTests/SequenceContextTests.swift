// SPDX-License-Identifier: Apache-2.0

#if Tracing
import ConcurrentObserve
import ConcurrentObserveTesting
import ConcurrentObserveTracing
import Logging
import Synchronization
import Testing
import Tracing

@Suite("The setter's context in sequences", .leavesNothingBehind, .timeLimit(.minutes(5)))
struct SequenceContextTests {
    @Test("Each element has its own context, whatever the policy drops", arguments: policies)
    func policy(policy: Buffering) async {
        let property = Observed(0)
        let registry = ObserverRegistry<Int>()
        var changes = property.changes(buffering: policy).withContext().makeAsyncIterator()
        var values = property.values(buffering: policy).withContext().makeAsyncIterator()
        // A view makes its elements when the iterator returns them.
        var distinct = property.removingDuplicates().values(buffering: policy).withContext().makeAsyncIterator()
        var events = registry.events(buffering: policy).withContext().makeAsyncIterator()
        for value in 1...6 {
            inContext(value) {
                property.value = value
                registry.notify(value)
            }
        }
        var seen: [Seen] = []
        for _ in policy.keptOfSix {
            await changes.next()?.withContext { seen.append(Seen($0.new)) }
            await values.next()?.withContext { seen.append(Seen($0)) }
            await distinct.next()?.withContext { seen.append(Seen($0)) }
            await events.next()?.withContext { seen.append(Seen($0)) }
        }
        #expect(seen == policy.keptOfSix.flatMap { Array(repeating: Seen($0, context: $0), count: 4) })
        #expect(changes.deliveryCounts.received == UInt64(policy.keptOfSix.count))
        #expect(distinct.deliveryCounts.received == UInt64(policy.keptOfSix.count))
    }

    @Test("An element without a context hides the consumer's")
    func none() async {
        let property = Observed(0)
        var values = property.values().withContext().makeAsyncIterator()
        property.value = 1
        let element = await values.next()
        #expect(element?.element == 1)
        #expect(element?.serviceContext == nil)
        var context = ServiceContext.topLevel
        context.tag = Tag(5)
        await ServiceContext.withValue(context) {
            await element?.withContext { _ in #expect(ServiceContext.current == nil) }
            #expect(ServiceContext.current?.tag?.id == 5)
        }
    }

    @Test("The body runs on the caller's actor, may suspend, and may throw")
    @MainActor func isolation() async {
        struct Failed: Error {}
        let property = Observed(0)
        var values = property.values().withContext().makeAsyncIterator()
        inContext(1) { property.value = 1 }
        let element = await values.next()
        await #expect(throws: Failed.self) {
            try await element?.withContext { value throws(Failed) in
                MainActor.preconditionIsolated()
                await Task.yield()
                #expect(Seen(value) == Seen(1, context: 1))
                throw Failed()
            }
        }
        #expect(ServiceContext.current == nil)
    }

    @Test("Elements and contexts agree under concurrent setters, and a flush waits for them", arguments: policies)
    func concurrent(policy: Buffering) async {
        let property = Observed(0)
        let sequence = property.values(buffering: policy).withContext()
        let wrong = Log<Seen>()
        let consumer = Task { [iterator = sequence.makeAsyncIterator()] in
            var iterator = iterator
            var last = 0
            while let element = await iterator.next() {
                last = element.element
                await element.withContext { value in
                    let seen = Seen(value)
                    if !seen.agrees { wrong.append(seen) }
                }
            }
            return last
        }
        await setConcurrently(property)
        #expect(await sequence.flush())
        consumer.cancel()
        let last = await consumer.value
        if policy != .droppingNewest(2) { #expect(last == property.value) }
        #expect(wrong.entries == [])
    }

    @Test("Values of contexts are released")
    func released() async throws {
        let live = Tag.live.load(ordering: .relaxed)
        for policy in policies {
            let property = Observed(0)
            var values: ObservationSequence<ContextualElement<Int>>._Iterator? =
                property.values(buffering: policy).withContext().makeAsyncIterator()
            for value in 1...6 { inContext(value) { property.value = value } }
            _ = await values?.next()
            values = nil
            try await whenQuiet()
            #expect(Tag.live.load(ordering: .relaxed) == live)
        }
    }

    @Test("A wait with a timeout releases the context of a value that it does not accept")
    func waiting() async throws {
        let property = Observed(0)
        // The second one makes its elements when the wait takes them.
        try await expectRelease(property, by: property)
        try await expectRelease(property, by: property.removingDuplicates())
    }

    /// Sets 1 in a context, and 2 when that context is destroyed.
    private func expectRelease(
        _ property: Observed<Int>,
        by waited: some ObservableProperty<Int>
    ) async throws {
        property.value = 0
        try await waited.first(timeout: .seconds(60)) { value in
            if value == 0 { inContext(Tag(1) { property.value = 2 }) { property.value = 1 } }
            return value == 2
        }
    }

    @Test("A sequence with contexts ends with its source")
    func end() async {
        var property: Observed<Int>? = Observed(0)
        var values = property!.values().withContext().makeAsyncIterator()
        property!.value = 1
        property = nil
        #expect(await values.next()?.element == 1)
        #expect(await values.next() == nil)
    }
}
#endif
