// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Dispatch
import Testing

extension Promises {
    @Suite("Nothing is left behind", .timeLimit(.minutes(5)))
    struct NothingLeftBehindTests {}
}

extension Promises.NothingLeftBehindTests {
    /// The issues of a test with the trait and this body.
    private func issues(
        within limit: Duration = .seconds(10),
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> [Issue] {
        let test = Test.current!
        return try await recordedIssues {
            try await NothingLeftBehind.leavesNothingBehind(within: limit)
                .provideScope(for: test, testCase: nil, performing: body)
        }
    }

    @Test("An observation that goes on is an issue where it was made, with its label")
    func leak() async throws {
        let property = Observed(0)
        let kept = Log<any Sendable>()
        let line = #_sourceLocation.line + 2
        let issues = try await issues {
            let token = property.observe { (_: Change<Int>) in }
            token.label = "display"
            kept.append(token)
        }
        #expect(issues.count == 1)
        #expect(issues.first?.sourceLocation?.line == line)
        #expect(issues.first?.sourceLocation?.fileName == "NothingLeftBehindTests.swift")
        #expect(issues.first?.text.hasPrefix("The observation 'display' is still active") == true)
        #expect(issues.first?.text.contains("leak() at NothingLeftBehindTests.swift:\(line)") == true)
        #expect(kept.count > 0)
    }

    @Test("Every kind of observation is found, after a suspension and in a child task, too")
    func kinds() async throws {
        let (property, target, registry) = (Observed(0), Observed(0), ObserverRegistry<Int>())
        let kept = Log<any Sendable>()
        let lines = Array((#_sourceLocation.line + 3)...(#_sourceLocation.line + 9))
        let issues = try await issues {
            await Task.yield()
            let first = registry.observe { _ in }
            let second = property.observe(delivery: .serial()) { (_: Change<Int>) in }
            let third = Group(property, property).observe { _ in }
            let fourth = property.map { $0 + 1 }.observe { (_: Change<Int>) in }
            let fifth = await Task { property.observe { (_: Change<Int>) in } }.value
            let sixth = property.bind(to: target)
            let seventh = property.values().record()
            for one in [first, second, third, fourth, fifth, sixth, seventh] as [any Sendable] { kept.append(one) }
        }
        #expect(issues.compactMap { $0.sourceLocation?.line }.sorted() == lines)
        #expect(kept.count > 0)
    }

    @Test("Tokens, sequences, waits and owners that end in time are no issue")
    func nothing() async throws {
        final class Owner: Sendable {}
        let property = Observed(0)
        let issues = try await issues {
            let (owner, bag) = (Owner(), ObservationBag())
            property.observe(owner: owner) { _, _ in }.store(in: bag)
            let iterator = property.values().makeAsyncIterator()
            try await property.first { $0 == 0 }
            let derived = property.map { $0 + 1 }
            let token = derived.observe(delivery: .serial()) { (_: Change<Int>) in }
            property.value += 1
            await token.flush()
            withExtendedLifetime((iterator, owner, bag)) {}
        }
        #expect(issues.map(\.text) == [])
    }

    @Test("A callback that is still running is an issue, at the line of its observation")
    func running() async throws {
        let (signal, begun, property) = (Signal("the end"), Signal("the beginning"), Observed(0))
        let line = #_sourceLocation.line + 2
        let issues = try await issues(within: .milliseconds(50)) {
            let token = property.observe(delivery: .queue(DispatchQueue(label: "running"))) { _ in
                begun.happen()
                signal.hold()
            }
            property.value = 1
            begun.hold()
            token.cancel()
        }
        #expect(issues.compactMap { $0.sourceLocation?.line } == [line])
        #expect(issues.first?.text.contains("has ended, and its closure is not destroyed") == true)
        signal.happen()
    }

    @Test("A value that cannot be destroyed is an issue")
    func value() async throws {
        final class Stuck: Sendable {
            let signal: Signal
            init(_ signal: Signal) { self.signal = signal }
            deinit { signal.hold() }
        }
        let signal = Signal("the end")
        let issues = try await issues(within: .milliseconds(50)) {
            let property = Observed(Stuck(signal))
            property.value = Stuck(happened())
        }
        #expect(issues.count == 1)
        #expect(issues.first?.text.contains("retired closures, values and tables are not destroyed") == true)
        signal.happen()
    }

    @Test("A test's error is thrown on, and what the test leaves is reported")
    func thrown() async throws {
        struct Failure: Error {}
        let property = Observed(0)
        let kept = Log<any Sendable>()
        let issues = try await issues {
            kept.append(property.observe { (_: Change<Int>) in })
            throw Failure()
        }
        #expect(issues.count == 2 && issues.contains { $0.error is Failure })
        #expect(kept.count > 0)
    }

    @Test("Eight threads observe: each observation that is left is found, once for its line")
    func race() async throws {
        let property = Observed(0)
        let kept = Log<any Sendable>()
        let issues = try await issues {
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        for number in 0..<200 {
                            let token = property.observe { (_: Change<Int>) in }
                            if number % 50 == 0 { kept.append(token) }
                        }
                    }
                }
            }
        }
        #expect(kept.count == 32)
        #expect(issues.count == 1)
    }
}

/// A signal that has happened.
private func happened() -> Signal {
    let signal = Signal("at once")
    signal.happen()
    return signal
}
