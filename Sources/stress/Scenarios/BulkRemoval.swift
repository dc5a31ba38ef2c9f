// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Observations are ended in bulk, by property, by object and by owner, inside callbacks and outside, while others register and change.
    static let bulkRemoval = Scenario(
        name: "bulk-removal",
        summary: "observations are ended by property, by object and by owner, in callbacks too, while others register",
        invariants: [
            "P8.silent-after-removal", "P8.others-go-on", "P5.no-lock-around-user-code", "P14.nothing-left",
            "P16.backlog-drains",
        ],
        windows: ["removed in a callback", "removed by owner", "removed by object"]
    ) { epoch in
        let shared = PathRoot(PathEnd(1))

        epoch.load { lane in
            lane.begin("standing observers")
            let root = PathRoot(PathEnd(1))
            let owner = Owner()
            let (direct, last, path, owned) = (Counter(), Counter(), Counter(), Counter())
            let number = root.middle.value.end.value!.number
            let tokens = [
                number.observe { [last] (_: Change<UInt64>) in last.note() },
                root.middle.observe { [direct] (_: Change<PathMiddle>) in direct.note() },
                root.observe(\.middle.end.number) { [path] (_: Change<UInt64?>) in path.note() },
                root.property(\.middle.end.number).observe(owner: owner) { [owned] _, _ in owned.note() },
                shared.middle.observe(owner: owner) { [owned] _, _ in owned.note() },
            ]
            let kind = lane.generator.below(4)
            let remove: @Sendable () -> Void = { [weak root, weak owner, weak number] in
                switch kind {
                case 0: number?.cancelAllObservations()
                case 1: root?.cancelAllObservations()
                default: if let owner { ObservationToken.cancelAll(ownedBy: owner) }
                }
            }
            if lane.generator.oneIn(2) {
                lane.begin("remove in a callback")
                let token = number.observe { (_: Change<UInt64>) in remove() }
                number.value = 2
                token.cancel()
                lane.hit(0)
            } else {
                lane.begin("remove")
                remove()
            }
            lane.hit(kind == 1 ? 2 : kind == 0 ? 0 : 1)
            let before = (direct.calls, last.calls, path.calls, owned.calls)
            lane.begin("change")
            number.value = 3
            root.middle.value = PathMiddle(PathEnd(4))
            shared.middle.value = PathMiddle(nil)
            let heard = (
                direct.calls - before.0, last.calls - before.1, path.calls - before.2, owned.calls - before.3
            )
            lane.checkRemoval(kind, heard)
            for token in tokens { token.cancel() }
        }

        epoch.checkRest()
    }
}

private final class Owner: Sendable {}

/// Calls, on the one thread that makes the changes; others are not counted.
private final class Counter: Sendable {
    private let thread = Lane.current?.index
    private let count = Atomic<Int>(0)

    var calls: Int { count.load(ordering: .relaxed) }

    func note() {
        checkUserCode("callback")
        if Lane.current?.index == thread { count.add(1, ordering: .relaxed) }
    }
}

extension Lane {
    /// Two changes of the path, one of which replaces the first step, and one change of a property that others share.
    fileprivate func checkRemoval(_ kind: Int, _ heard: (direct: Int, last: Int, path: Int, owned: Int)) {
        let silent: Bool
        let others: Bool
        switch kind {
        case 0:
            // By property: paths that lead there are observations of their roots, and go on.
            silent = heard.last == 0
            others = heard.direct == 1 && heard.path == 2 && heard.owned == 3
        case 1:
            silent = heard.direct == 0 && heard.path == 0
            others = heard.last == 1 && heard.owned == 1
        default:
            silent = heard.owned == 0
            others = heard.direct == 1 && heard.last == 1 && heard.path == 2
        }
        check(silent, "P8.silent-after-removal", "kind \(kind): what was removed heard \(heard)")
        check(others, "P8.others-go-on", "kind \(kind): heard \(heard)")
    }
}
