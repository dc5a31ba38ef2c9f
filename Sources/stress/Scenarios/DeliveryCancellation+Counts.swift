// SPDX-License-Identifier: Apache-2.0

extension Worker {
    /// Now and then observes sources that no other thread has, so that the counts are known exactly. (P8)
    func checkCounts() {
        guard generator.oneIn(4) else { return }
        begin("count observations")
        checkObservationCounts()
    }

    /// An observation counts until it ends: its closure is destroyed later. (P8)
    private func checkObservationCounts() {
        let registry = ObserverRegistry<UInt64>()
        let (first, second) = (Observed<UInt64>(0), Observed<UInt64>(0))
        let tokens = [
            registry.observe(delivery: .serial()) { _ in }, Group(first, second).observe(delivery: .serial()) { _ in },
        ]
        let counts = { [registry.observationCount, first.observationCount, second.observationCount] }
        let begun = counts()
        for token in tokens { token.cancel() }
        let ended = counts()
        check(
            begun == [1, 1, 1] && ended == [0, 0, 0],
            "P8.counted-until-the-end",
            "a registry and the members of a group count \(begun) observations, after their end \(ended)"
        )
    }
}
