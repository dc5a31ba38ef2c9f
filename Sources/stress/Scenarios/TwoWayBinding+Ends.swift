// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Checks that both directions of a pair end with the observations of either side, and that both
/// sides count the pair until then. (P8)
func checkEndsOfPairs(_ round: Round) {
    for isRight in [false, true] {
        let (left, right) = (Observed<UInt64>(1), Observed<UInt64>(0))
        let token = left.bindBidirectionally(with: right)
        let begun = [left.observationCount, right.observationCount]
        if isRight { right.cancelAllObservations() } else { left.cancelAllObservations() }
        let ended = [left.observationCount, right.observationCount]
        left.value = 2
        let forward = right.value
        right.value = 3
        let backward = left.value
        round.check(
            begun == [1, 1] && ended == [0, 0] && !token.isActive && forward == 1 && backward == 2,
            "P8.both-sides-end",
            """
            the sides counted \(begun); after the cancellation on the \(isRight ? "right" : "left") they count \(ended), \
            and have brought \(forward) forwards, \(backward) backwards
            """
        )
        token.cancel()
    }
}

/// Checks that a side which corrects the value that it receives also corrects its partner, through
/// a chain of pairs, too. (P3)
func checkCorrections(_ round: Round) {
    let (first, second, last) = (Observed<UInt64>(0), Observed<UInt64>(0), Observed<UInt64>(0))
    let tokens = [
        first.bindBidirectionally(with: second), last.bind(to: last) { min($0, 100) },
        second.bindBidirectionally(with: last),
    ]
    first.value = 250
    let values = [first.value, second.value, last.value]
    round.check(values == [100, 100, 100], "P3.pair-converges") {
        "the last of three that are bound in pairs takes 100 at most; after 250 they have \(values)"
    }
    for token in tokens { token.cancelAndWaitBlocking() }
}

/// Checks that a value from another binding stays when a transform returns whose binding was
/// cancelled while it ran. (P3)
func checkCancellationInATransform(_ round: Round) {
    let (source, destination) = (Observed<UInt64>(0), Observed<UInt64>(0))
    let tokens = Mutex<[ObservationToken]>([])
    let cancelled = source.bind(to: destination) { value in
        guard value == 1 else { return value }
        for token in tokens.withLock({ $0 }) { token.cancel() }
        source.value = 2
        return value
    }
    tokens.withLock { $0 = [cancelled] }
    let lasting = source.bind(to: destination)
    source.value = 1
    round.check(destination.value == 2, "P3.destination-follows") {
        "the source has 2, the destination \(destination.value): a binding that was cancelled in its transform has set it"
    }
    withExtendedLifetime(lasting) {}
}

/// Checks that a value that has come round a cycle is later than a change that arrives at the
/// binding afterwards. (P3)
func checkCycleInACallback(_ round: Round) {
    let (source, destination) = (Observed<UInt64>(0), Observed<UInt64>(0))
    let tokens = [
        source.observe { change in if change.new == 1 { destination.value = 2 } },
        source.bind(to: destination),
        destination.bind(to: source),
    ]
    source.value = 1
    round.check((source.value, destination.value) == (2, 2), "P3.destination-follows") {
        "the source has \(source.value), the destination \(destination.value): an older change has undone what came round"
    }
    withExtendedLifetime(tokens) {}
}

/// Checks that a pair that is bound once more, with other transforms, takes the values of these.
/// (P3)
func checkPairWithOtherTransforms(_ round: Round) {
    let (left, right) = (Observed<UInt64>(3), Observed<UInt64>(0))
    let doubles = left.bindBidirectionally(with: right, forward: { $0 * 2 }, backward: { $0 / 2 })
    let before = right.value
    let decuples = left.bindBidirectionally(with: right, forward: { $0 * 10 }, backward: { $0 / 10 })
    round.check((before, right.value, left.value) == (6, 30, 3), "P3.pair-converges") {
        "of 3, two bindings have made \(before) and \(right.value), and the left is \(left.value)"
    }
    withExtendedLifetime((doubles, decuples)) {}
}
