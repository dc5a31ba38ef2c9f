// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P5 Observing and reading inside a body")
    struct P05BodyObservationTests {}
}

extension Promises.P05BodyObservationTests {
    @Test("P5 Groups, lists and derived values are observed inside a body, and receive every later change")
    func observes() {
        let (a, b, body) = (Observed(1), Observed(2), Observed(0))
        let sums = Log<Int>()
        let sum = Derived(a, b) { $0 + $1 }
        let sumOfGroup = Derived { get in
            let (left, right) = get(Group(a, b))
            return left + right
        }
        var tokens: [ObservationToken] = []
        body.modify { _ in tokens.append(Group(a, b).observe { sums.append($0.new.0 + $0.new.1) }) }
        Group(body, Observed(0)).commit { _ in
            tokens.append(PropertyList([a, b]).observe { sums.append($0.new[0] + $0.new[1]) })
            tokens.append(sum.observeValues { sums.append($0) })
            tokens.append(sumOfGroup.observeValues { sums.append($0) })
        }
        // A derived value that is first observed inside a body settles on a thread of the library.
        // If that thread is in the drain loop, a change is delivered there, after the setter's
        // return.
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        a.value = 10
        #expect(sums.entries.filter { $0 == 12 }.count == 4)
        withExtendedLifetime(tokens) {}
    }

    @Test("P5 Inside a body a derived value is read that another thread is evaluating for its observers")
    func readsStale() throws {
        let (source, body) = (Observed(1), Observed(0))
        let (isEvaluating, mayReturn) = (Signal("the evaluation"), Signal("its end"))
        let writers = Flag()
        let derived = Derived { get in
            let value = get(source)
            // The first evaluation of this value is the writer's.
            if value == 2, !writers.isSet {
                writers.set()
                isEvaluating.happen()
                mayReturn.hold()
            }
            return value * 10
        }
        let received = Log<Int>()
        // A callback that changes a property: in a body it would trap.
        let token = derived.observeValues {
            received.append($0)
            body.modify { $0 += 1 }
        }
        let writer = TestThread { source.value = 2 }
        try isEvaluating.wait()
        body.modify { _ in #expect(derived.value == 20) }
        mayReturn.happen()
        try writer.join()
        #expect(received.entries.filter { $0 == 20 }.count == 1)
        withExtendedLifetime(token) {}
    }

    @Test("P5 Observing a derived value inside a body announces no other thread's change there")
    func announcesElsewhere() throws {
        let (source, body) = (Observed(1), Observed(0))
        let (isEvaluating, mayReturn) = (Signal("the evaluation"), Signal("its end"))
        let writers = Flag()
        let derived = Derived { get in
            let value = get(source)
            if value == 2, !writers.isSet {
                writers.set()
                isEvaluating.happen()
                mayReturn.hold()
            }
            return value * 10
        }
        let received = Log<Int>()
        let token = derived.observeValues {
            received.append($0)
            body.modify { $0 += 1 }
        }
        let writer = TestThread { source.value = 2 }
        try isEvaluating.wait()
        var other: ObservationToken?
        body.modify { _ in
            // Published by this thread; the callbacks are for others.
            #expect(derived.value == 20)
            other = derived.observeValues { _ in }
        }
        mayReturn.happen()
        try writer.join()
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20)) == .finished)
        #expect(received.entries.filter { $0 == 20 }.count == 1)
        withExtendedLifetime((token, other)) {}
    }
}
