// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P25 A followed model belongs to one run")
    struct P25FollowedTests {}
}

extension Promises.P25FollowedTests {
    @Test("P25 A followed model that is kept beyond its run traps, and says so", arguments: [false, true])
    func kept(isInNextRun: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [isInNextRun] in
            let engine = Observed(Engine())
            let hot = Derived { get in
                if isInNextRun, let kept = unsafe Kept.engine { return kept.rpm > 6_000 }
                let followed = get.follow(engine)
                unsafe Kept.engine = followed
                return followed.rpm > 6_000
            }
            check(!hot.value, "the value is wrong before anything was kept")
            engine.value = Engine()
            if isInNextRun { _ = hot.value } else { _ = unsafe Kept.engine?.rpm }
        }
        #expect(
            result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("beyond its run") } == true
        )
    }
}

private final class Engine: ConcurrentObservable {
    struct Properties: Sendable { let rpm: Observed<Int> }
    let rpm = Observed(800)
    var observedProperties: Properties { Properties(rpm: rpm) }
}

private enum Kept {
    // Safe: the test's process uses it on one thread.
    nonisolated(unsafe) static var engine: Followed<Engine>?
}
