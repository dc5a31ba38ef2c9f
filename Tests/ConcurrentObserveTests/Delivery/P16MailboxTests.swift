// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P16 Mailboxes that grow are reported", .timeLimit(.minutes(2)))
    struct P16MailboxTests {}
}

extension Promises.P16MailboxTests {
    @Test("P16 A mailbox that grows is reported with its label, inside the figures of the process")
    func growth() async throws {
        let queue = DispatchQueue(label: "held")
        queue.suspend()
        let (property, registry) = (Observed(0, label: "mileage"), ObserverRegistry<Int>(label: "logins"))
        let (ofSource, ofObservation) = (
            property.observe(delivery: .queue(queue)) { _ in },
            property.observe(delivery: .queue(queue)) { _ in }
        )
        ofObservation.label = "dashboard"
        #expect(ofObservation.label == "dashboard" && property.label == "mileage")
        var iterator = registry.events().makeAsyncIterator()
        let before = ConcurrentObserveDiagnostics.current().pendingEvents
        for number in 1...5_000 { property.value = number }
        for number in 1...3_000 { registry.notify(number) }
        let small = property.observe(delivery: .queue(queue)) { _ in }
        property.value = 0

        let now = ConcurrentObserveDiagnostics.current()
        // Other tests run at the same time, and deliver events that were pending before.
        #expect(now.pendingEvents >= 13_000 - before && now.peakPendingEvents >= now.pendingEvents)
        let largest = ConcurrentObserveDiagnostics.largestMailboxes(1_000)
        let found = largest.filter { ["mileage", "dashboard", "logins"].contains($0.label) }
        #expect(found.map(\.counts?.pending) == [5_001, 5_001, 3_000])
        #expect(Set(found.map(\.label)) == ["mileage", "dashboard", "logins"])
        #expect(Set(found.map(\.id)).count == 3)
        #expect(ConcurrentObserveDiagnostics.largestMailboxes(1).count == 1)

        queue.resume()
        for token in [ofSource, ofObservation, small] { #expect(await token.flush()) }
        _ = await iterator.next(3_000)
        let left = ConcurrentObserveDiagnostics.largestMailboxes(1_000)
        #expect(!left.contains { ["mileage", "dashboard", "logins"].contains($0.label) })
        withExtendedLifetime(iterator) {}
    }

    @Test("P16 The pending events of the process are those of its mailboxes, when these are at rest")
    func sum() async {
        let result = await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let queue = DispatchQueue(label: "held")
            queue.suspend()
            let property = Observed(0)
            let tokens = [Buffering.unbounded, .latest, .droppingOldest(7), .droppingNewest(7)].map { buffering in
                property.observe(delivery: .queue(queue, buffering: buffering)) { _ in }
            }
            try onThreads(2) { _ in for number in 1...2_500 { property.value = number } }
            var now = ConcurrentObserveDiagnostics.current()
            precondition(now.pendingEvents == 5_015, "\(now)")
            // A mailbox has looked at 4,096 at the latest.
            precondition(now.peakPendingEvents >= 4_096, "\(now)")
            queue.resume()
            for token in tokens { await token.flush() }
            now = ConcurrentObserveDiagnostics.current()
            precondition(now.pendingEvents == 0 && now.peakPendingEvents >= 5_015, "\(now)")
        }
        withExtendedLifetime(result) {}
    }

    @Test("P16 A label that changes often takes the memory of one")
    func changingLabels() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let property = Observed(0)
            let token = property.observe { (_: Change<Int>) in }
            let change = { (number: Int) in
                token.label = "\(number)"
                token.label = ""
            }
            for number in 0..<1_000 { change(number) }
            let before = Process.residentBytes
            for number in 0..<200_000 { change(number) }
            let growth = Process.residentBytes - before
            check(growth < 4 << 20, "\(growth) bytes")
            token.label = "last"
            check(token.label == "last", "a label that was taken away comes back")
            withExtendedLifetime(property) {}
        }
    }

    @Test("A negative number of mailboxes traps with the rule, none is no mistake")
    func negativeCount() async {
        #expect(ConcurrentObserveDiagnostics.largestMailboxes(0).isEmpty)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            _ = ConcurrentObserveDiagnostics.largestMailboxes(-1)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("a negative number of mailboxes. Ask for 0 or more"))
    }

    @Test("P16 Labels go with their observations")
    func labels() throws {
        let property = Observed(0)
        for number in 0..<100 {
            let token = property.observe { (_: Change<Int>) in }
            #expect(token.label == "")
            token.label = "\(number)"
            token.label = "again \(number)"
            #expect(token.label == "again \(number)")
            if number & 1 == 0 { token.label = "" }
            token.cancel()
            try Process.settle()
            #expect(token.label == "")
            token.label = "late"
            #expect(token.label == "")
        }
    }
}
