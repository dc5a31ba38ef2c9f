// SPDX-License-Identifier: Apache-2.0

/// Properties that follow a path and a group. Their callbacks set the sources of the path and of
/// the group again.
final class FollowersFromAfar: Sendable {
    private let root = PathRoot(PathEnd(0))
    private let ofPath = Observed<UInt64>(0)
    private let ofGroup = Observed<UInt64>(0)
    private let tokens: [ObservationToken]

    init() {
        let (root, first) = (root, root.first)
        tokens = [
            root.property(\.middle.end.number).bind(to: ofPath) { $0 ?? 0 },
            Group(root.first, root.middle).bind(to: ofGroup) { $0.0 },
            // The callback of each sets the next number until it is a multiple of eight.
            ofPath.observe { change in if change.new & 7 != 0 { root.setNumber(change.new + 1) } },
            ofGroup.observe { change in if change.new & 7 != 0 { first.value = change.new + 1 } },
        ]
    }

    func set(_ value: UInt64) {
        root.setNumber(value)
        root.first.value = value
    }

    /// Checks the properties that have followed. All setters must have returned.
    func check(_ worker: Worker) {
        for (name, source, destination) in [
            ("path", root.present, ofPath.value), ("group", root.first.value, ofGroup.value),
        ] {
            worker.check(source == destination && source & 7 == 0, "P3.destination-follows") {
                "a \(name) has \(source), what follows it and sets it again \(destination)"
            }
        }
    }
}

extension PathRoot {
    fileprivate func setNumber(_ value: UInt64) { middle.value.end.value?.number.value = value }
}

/// Checks a cycle that leads through a path, and one through a group. A change passes each binding
/// of the first once, and of the second twice.
func checkCyclesFromAfar(_ round: Round) {
    for isGroup in [false, true] {
        let root = PathRoot(PathEnd(0))
        let other = Observed<UInt64>(0)
        let number = isGroup ? root.first : root.middle.value.end.value!.number
        let passes = Guarded(0)
        let tokens = Guarded<[ObservationToken]>([])
        let next: @Sendable (UInt64) -> UInt64 = { value in
            // A cycle that does not end is stopped.
            let count = passes.withLock { passes in
                passes += 1
                return passes
            }
            if count > 20 { for token in tokens.withLock({ $0 }) { token.cancel() } }
            return value + 1
        }
        let there =
            isGroup
            ? Group(root.first, root.middle).bind(to: other) { next($0.0) }
            : root.property(\.middle.end.number).bind(to: other) { next($0 ?? 0) }
        // From here on the cycle can be stopped. The next binding closes it, and sets the first
        // value.
        tokens.withLock { $0 = [there] }
        let back = other.bind(to: number, transform: next)
        passes.withLock { $0 = 0 }
        number.value = 10
        let (here, far) = (number.value, other.value)
        round.check((here, far) == (isGroup ? (14, 13) : (12, 11)), "P6.propagation-bounded") {
            "a change to 10 went round a cycle through a \(isGroup ? "group" : "path") to \(here) and \(far)"
        }
        // `next` captures `tokens`, and the bindings in it retain `next`. This breaks the cycle.
        for token in [there, back] { token.cancelAndWaitBlocking() }
        tokens.withLock { $0 = [] }
    }
}
