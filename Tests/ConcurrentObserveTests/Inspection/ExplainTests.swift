// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveInspection
import ConcurrentObserveTesting
import Testing

extension Promises {
    @Suite("Why a derived value ran", .timeLimit(.minutes(2)))
    final class ExplainTests {
        init() { ConcurrentObserveDiagnostics.startRecording() }
        deinit { ConcurrentObserveDiagnostics.stopRecording() }
    }
}

extension Promises.ExplainTests {
    private typealias Source = DerivedExplanation.Source

    @Test("One source: the first run, a change, and what has changed since, in words and as data")
    func one() {
        let errors = Observed(0, label: "errors")
        let line = #line + 1
        let derived = Derived { get in get(errors) + 1 }
        let place = "ConcurrentObserveTests/ExplainTests.swift:\(line)"
        #expect(derived.explain().description == "\(place) has not run.")
        #expect(derived.explain().isStale == true && derived.explain().runs == 0)
        _ = derived.value
        #expect(
            derived.explain().description == """
                \(place) ran once. It was the first time.
                  'errors': version 0
                It is current. It has 0 observations.
                """
        )
        errors.value = 1
        #expect(derived.explain().isStale == true)
        #expect(
            derived.explain().description == """
                \(place) ran once. It was the first time.
                  'errors': version 0
                It is stale: 'errors' has changed since. It has 0 observations.
                """
        )
        let token = derived.observe { _ in }
        let explanation = derived.explain()
        #expect(
            explanation.description == """
                \(place) ran 2 times. The last time 'errors' had changed.
                  'errors': version 1, before 0
                It is current. It has 1 observation.
                """
        )
        #expect(explanation.place == place && explanation.runs == 2 && explanation.isStale == false)
        #expect(explanation.sources.count == 1 && explanation.sources[0].isCause)
        #expect(explanation.sources[0].before == 0 && explanation.sources[0].version == 1)
        withExtendedLifetime(token) {}
    }

    @Test("Several named sources: the one that changed is the cause; a commit has several")
    func several() {
        let (errors, requests) = (Observed(0, label: "errors"), Observed(10, label: "requests"))
        let rate = Derived(errors, requests) { $0 * 100 / $1 }
        _ = rate.value
        requests.value = 20
        _ = rate.value
        #expect(rate.explain().sources.filter(\.isCause).map(\.name) == ["'requests'"])
        Group(errors, requests).commit { transaction in
            transaction[errors] = 5
            transaction[requests] = 50
        }
        _ = rate.value
        let explanation = rate.explain()
        #expect(explanation.sources.filter(\.isCause).map(\.name) == ["'errors'", "'requests'"])
        #expect(explanation.sources.map(\.version) == [1, 2] && explanation.sources.map(\.before) == [0, 1])
        #expect(explanation.runs == 3)
    }

    @Test("A derived value as a source: its equal result causes no run")
    func nested() {
        let (count, unit) = (Observed(1, label: "count"), Observed("s"))
        let line = #line + 1
        let isOdd = Derived { get in get(count) % 2 == 1 }
        let text = Derived { get in get(isOdd) ? "odd " + get(unit) : "even" }
        let name = "derived value at ConcurrentObserveTests/ExplainTests.swift:\(line)"
        _ = text.value
        count.value = 3
        #expect(text.explain().isStale == nil)
        #expect(text.explain().description.contains("It may be stale: \(name) must be read to know."))
        _ = text.value
        #expect(text.explain().runs == 1 && text.explain().isStale == false)
        #expect(text.explain().description.contains("ran once. It was the first time."))
        #expect(isOdd.explain().runs == 2 && isOdd.explain().sources[0].isCause)
        count.value = 4
        _ = isOdd.value
        #expect(text.explain().isStale == true)
        _ = text.value
        let explanation = text.explain()
        #expect(explanation.runs == 2 && explanation.sources.first?.name == name)
        #expect(explanation.sources.filter(\.isCause).map(\.name) == [name])
        // The other branch does not read the unit.
        #expect(explanation.sources.last?.name == "Observed<String>" && explanation.sources.last?.version == nil)
        #expect(explanation.description.contains("  Observed<String>: not read any more, before 0\n"))
    }

    @Test("A source that is read no more, and one that is read again: neither is the cause")
    func branches() {
        let (usesFirst, first, second) = (Observed(true, label: "uses"), Observed(1, label: "first"), Observed(2))
        let derived = Derived { get in get(usesFirst) ? get(first) : get(second) }
        _ = derived.value
        usesFirst.value = false
        _ = derived.value
        first.value = 7
        let explanation = derived.explain()
        #expect(explanation.isStale == false)
        #expect(explanation.sources.map(\.name) == ["'uses'", "Observed<Int>", "'first'"])
        #expect(explanation.sources.map(\.version) == [1, 0, nil])
        #expect(explanation.sources.map(\.before) == [0, nil, 0])
        #expect(explanation.sources.map(\.isCause) == [true, false, false])
    }

    @Test("An equal value counts as a change of its source, and runs the function")
    func equal() {
        let source = Observed(1, label: "source")
        let derived = Derived { get in get(source) > 0 }
        let token = derived.observe { _ in }
        source.value = 1
        #expect(derived.explain().runs == 2 && derived.version == 0)
        withExtendedLifetime(token) {}
    }

    @Test("A function that fails, and one that reads an asynchronous value")
    func others() async throws {
        struct Odd: Error, Equatable {}
        let source = Observed(1, label: "source")
        let failing = Derived(throwing: { get throws(Odd) in
            if get(source) % 2 == 1 { throw Odd() }
            return get(source)
        })
        #expect(failing.value == .failure(Odd()))
        source.value = 2
        #expect(failing.value == .success(2))
        #expect(failing.explain().sources.map(\.name) == ["'source'"] && failing.explain().sources[0].isCause)

        let slow = AsyncDerived(source) { $0 * 2 }
        _ = try await slow.result()
        let derived = Derived { get in get(source) + (get(slow).flatMap { try? $0.get() } ?? 0) }
        #expect(derived.value == 6)
        source.value = 3
        _ = try await slow.result()
        #expect(derived.explain().isStale == true)
        #expect(derived.value == 9)
        let explanation = derived.explain()
        #expect(explanation.sources.map(\.name) == ["'source'", "AsyncDerived<Int>"])
        #expect(explanation.sources.map(\.isCause) == [true, true] && explanation.isStale == false)
    }

    /// A property of a type that the library does not know.
    private final class Custom: ObservableProperty {
        let base: Observed<Int>

        init(_ value: Int) { base = Observed(value) }

        var value: Int { base.value }
        var version: UInt64 { base.version }
        func snapshot() -> (value: Int, version: UInt64) { base.snapshot() }
        func attach(_ observer: PropertyObserver<Int>) -> ObservationToken { base.attach(observer) }
        var weakAttachment: @Sendable (PropertyObserver<Int>) -> ObservationToken? { base.weakAttachment }
    }

    @Test("Sources of a user's type, below one derived value and below two: only a read shows a change")
    func customNested() {
        let (custom, plain) = (Custom(1), Observed(5))
        let inner = Derived { get in get(custom) * 2 }
        let outer = Derived { get in get(inner) + get(plain) }
        let third = Derived { get in get(outer) + 1 }
        #expect(third.value == 8)
        #expect(third.explain().isStale == false && outer.explain().isStale == false)
        custom.base.value = 7
        #expect(inner.explain().isStale == true && outer.explain().isStale == nil && third.explain().isStale == nil)
        #expect(third.value == 20 && third.explain().isStale == false)
        let explanations = Log<Bool?>()
        let observing = Derived { get in
            explanations.append(outer.explain().isStale)
            return get(plain)
        }
        _ = observing.value
        // Inside a function the version of such a source is not read.
        #expect(explanations.entries == [nil])
    }

    @Test("Sources of a user's type that change places: each is compared with itself")
    func customPlaces() {
        let (first, second, flag) = (Custom(0), Custom(0), Observed(true, label: "flag"))
        for _ in 0..<5 { second.base.modify { $0 += 1 } }
        let derived = Derived { get in get(flag) ? get(first) + get(second) : get(second) + get(second) }
        _ = derived.value
        flag.value = false
        _ = derived.value
        let sources = derived.explain().sources
        #expect(sources.map(\.name) == ["'flag'", "Custom", "Custom"])
        #expect(sources.map(\.before) == [0, 5, 0] && sources.map(\.version) == [1, 5, nil])
        #expect(sources.map(\.isCause) == [true, false, false])
    }

    @Test("After a recording, the next evaluation releases the sources that only the notes keep", .leavesNothingBehind)
    func notesEnd() async throws {
        final class Owned: ObservableProperty {
            let base = Observed(1)
            let destroyed: Counter
            init(_ destroyed: Counter) { self.destroyed = destroyed }
            deinit { destroyed.increment() }
            var value: Int { base.value }
            var version: UInt64 { base.version }
            func snapshot() -> (value: Int, version: UInt64) { base.snapshot() }
            func attach(_ observer: PropertyObserver<Int>) -> ObservationToken { base.attach(observer) }
            var weakAttachment: @Sendable (PropertyObserver<Int>) -> ObservationToken? { base.weakAttachment }
        }
        let destroyed = Counter()
        let slot = Observed<[Owned]>([Owned(destroyed)])
        let derived = Derived { get in get(slot).first.map { get($0) } ?? -1 }
        _ = derived.value
        slot.value = []
        _ = derived.value
        try await whenQuiet()
        #expect(destroyed.value == 0)
        ConcurrentObserveDiagnostics.stopRecording()
        slot.value = []
        _ = derived.value
        try await whenQuiet()
        #expect(destroyed.value == 1)
    }

    @Test("Inside its own function it explains the result before; a dead source is named so")
    func inside() throws {
        let explanations = Log<String>()
        let source = Observed(1, label: "source")
        let this = Log<Derived<Int>>()
        let derived = Derived { get in
            if let this = this.entries.first { explanations.append(this.explain().description) }
            return get(source)
        }
        this.append(derived)
        _ = derived.value
        source.value = 2
        _ = derived.value
        #expect(explanations.entries.count == 2)
        #expect(explanations.entries[0].hasSuffix(" has not run."))
        #expect(explanations.entries[1].contains("It is stale: 'source' has changed since."))

        final class Holder: Sendable { let property = Observed(1) }
        let holder = Observed<Holder?>(Holder(), label: "holder")
        let other = Derived { get in get(holder).map { get($0.property) } ?? 0 }
        _ = other.value
        holder.value = nil
        try onNewThread { ConcurrentObserveDiagnostics.drain() }
        #expect(other.explain().sources.map(\.name) == ["'holder'", "a property that is gone"])
    }

    @Test("Without a recording it says so; a later recording counts from its beginning")
    func unrecorded() {
        ConcurrentObserveDiagnostics.stopRecording()
        let source = Observed(1, label: "source")
        let derived = Derived { get in get(source) }
        _ = derived.value
        #expect(derived.explain().runs == nil)
        #expect(derived.explain().description.contains("has run. Record runs to know why.\n  'source': version 0\n"))
        ConcurrentObserveDiagnostics.startRecording()
        #expect(derived.explain().description.contains("has not run since the recording began."))
        source.value = 2
        _ = derived.value
        #expect(derived.explain().runs == 1 && derived.explain().sources[0].before == 0)
        ConcurrentObserveDiagnostics.stopRecording()
        ConcurrentObserveDiagnostics.startRecording()
        #expect(derived.explain().runs == 0 && derived.explain().sources[0].before == nil)
    }

    private struct Sum: Sendable { let number: Int }

    @Test("Eight threads change, read and explain: each explanation is of one run, and each run counts once")
    func race() throws {
        let (first, second) = (Observed(0, label: "first"), Observed(0, label: "second"))
        let derived = Derived { get in get(first) &+ get(second) }
        let token = derived.observe { _ in }
        // Each of its results is a change. All threads evaluate it.
        let sum = Derived { get in Sum(number: get(first) &+ get(second)) }
        _ = sum.value
        let torn = Counter()
        try onThreads(8) { index in
            for _ in 0..<2_000 {
                if index < 3 { first.modify { $0 &+= 1 } } else if index < 5 { second.modify { $0 &+= 1 } }
                _ = sum.value
                let explanation = derived.explain()
                let isWhole = explanation.sources.map(\.name) == ["'first'", "'second'"]
                let isOrdered = explanation.sources.allSatisfy { $0.before ?? 0 <= $0.version! }
                let hasCause = explanation.runs! < 2 || explanation.sources.contains(where: \.isCause)
                if !isWhole || !isOrdered || !hasCause { torn.increment() }
            }
        }
        #expect(torn.value == 0)
        #expect(derived.explain().isStale == false && derived.value == 10_000)
        #expect(sum.explain().runs == Int(sum.version) + 1)
        withExtendedLifetime(token) {}
    }
}
