// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Observations are ended in bulk, by property, by object and by owner, inside callbacks and
    /// outside, while others register and change.
    static let bulkRemoval = Scenario(
        name: "bulk-removal",
        summary: "observations are ended by property, by object and by owner, in callbacks too, while others register",
        invariants: [
            "P8.silent-after-removal", "P8.others-go-on", "P5.no-lock-around-user-code", "P14.nothing-left",
            "P16.backlog-drains",
        ],
        windows: [
            "removed in a callback", "removed by owner", "removed by object", "removed by property",
            "removed in the middle of a path",
        ]
    ) { round in
        let shared = PathRoot(PathEnd(1))

        round.load { worker in
            worker.begin("standing observers")
            let root = PathRoot(PathEnd(1))
            let owner = Owner()
            let (direct, path, owned, inner) = (Counter(), Counter(), Counter(), Counter())
            let tokens = [
                root.middle.observe { [direct] (_: Change<PathMiddle>) in direct.note() },
                root.observe(\.middle.end.number) { [path] (_: Change<UInt64?>) in path.note() },
                root.property(\.middle.end.number).observe(owner: owner) { [owned] _, _ in owned.note() },
                shared.middle.observe(owner: owner) { [owned] _, _ in owned.note() },
                root.middle.value.end.observe { [inner] (_: Change<PathEnd?>) in inner.note() },
            ]
            let (end, number) = (root.middle.value.end, root.middle.value.end.value!.number)
            let kind = Removal.allCases.randomElement(using: &worker.generator)!
            let remove: @Sendable () -> Void = { [weak root, weak owner, end] in
                switch kind {
                case .byProperty: root?.middle.cancelAllObservations()
                case .byInnerProperty: end.cancelAllObservations()
                case .byObject: root?.cancelAllObservations()
                case .byOwner: if let owner { ObservationToken.cancelAll(ownedBy: owner) }
                }
            }
            if worker.generator.oneIn(2) {
                worker.begin("remove in a callback")
                let token = number.observe { (_: Change<UInt64>) in remove() }
                number.value = 2
                token.cancel()
                worker.hit(0)
            } else {
                worker.begin("remove")
                remove()
            }
            worker.hit(kind.window)
            let before = (direct.calls, path.calls, owned.calls, inner.calls)
            worker.begin("change")
            number.value = 3
            end.value = PathEnd(5)
            root.middle.value = PathMiddle(PathEnd(4))
            shared.middle.value = PathMiddle(nil)
            let received = (
                direct.calls - before.0, path.calls - before.1, owned.calls - before.2, inner.calls - before.3
            )
            worker.checkRemoval(kind, received)
            for token in tokens { token.cancel() }
        }

        round.checkRest()
    }
}

private final class Owner: Sendable {}

/// How observations are removed.
private enum Removal: Int, CaseIterable {
    case byOwner = 1
    case byObject, byProperty, byInnerProperty

    var window: Int { rawValue }
}

/// Calls, on the one thread that makes the changes; others are not counted.
private final class Counter: Sendable {
    private let thread = Worker.current?.index
    private let count = Atomic<Int>(0)

    var calls: Int { count.load(ordering: .relaxed) }

    func note() {
        checkUserCode("callback")
        if Worker.current?.index == thread { count.add(1, ordering: .relaxed) }
    }
}

extension Worker {
    /// Three changes of the path, of them two replacements of a step, and one change of a property
    /// that others share.
    fileprivate func checkRemoval(_ kind: Removal, _ received: (direct: Int, path: Int, owned: Int, inner: Int)) {
        let silent: Bool
        let others: Bool
        switch kind {
        case .byProperty, .byObject:
            // The paths begin with the property.
            silent = received.direct == 0 && received.path == 0
            others = received.owned == 1 && received.inner == 1
        case .byInnerProperty:
            // Paths lead through the property, and go on.
            silent = received.inner == 0
            others = received.direct == 1 && received.path == 3 && received.owned == 4
        case .byOwner:
            silent = received.owned == 0
            others = received.direct == 1 && received.path == 3 && received.inner == 1
        }
        check(silent, "P8.silent-after-removal", "\(kind): what was removed received \(received)")
        check(others, "P8.others-go-on", "\(kind): received \(received)")
    }
}
