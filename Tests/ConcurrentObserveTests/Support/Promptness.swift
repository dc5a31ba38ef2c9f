// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

/// Expects that the captures of an observation die within 100 ms after its end, without further
/// traffic. (P14)
///
/// The promise does not count threads that are not scheduled, which a test cannot see. Therefore
/// most of several rounds must be in time, and all must end.
func expectPromptly(
    _ start: () -> (Lives, ObservationToken),
    end: (ObservationToken) -> Void = { $0.cancel() },
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let rounds = 7
    var times: [Duration] = []
    for _ in 0..<rounds {
        let (lives, token) = start()
        #expect(lives.alive > 0, sourceLocation: sourceLocation)
        end(token)
        times.append(try lives.waitUntilNoneIsLeft())
    }
    times.sort()
    #expect(times[rounds / 2] < .milliseconds(100), "of \(times)", sourceLocation: sourceLocation)
}
