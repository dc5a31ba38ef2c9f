// SPDX-License-Identifier: Apache-2.0

/// Both directions of a pair end with the observations of either side, and both sides count the pair until then. (P8)
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
