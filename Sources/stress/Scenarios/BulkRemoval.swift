// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Observations are ended in groups: by property, by object and by owner, inside callbacks and
    /// outside. At the same time others register and change.
    static let bulkRemoval = Scenario(
        name: "bulk-removal",
        summary: "observations are ended by property, by object and by owner, in callbacks too, while others register",
        invariants: ["P8.silent-after-removal", "P8.others-go-on", "P5.no-lock-around-user-code"] + checkedAtRest,
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
            let counters = [direct, path, owned, inner]
            let before = counters.map(\.calls)
            worker.begin("change")
            number.value = 3
            end.value = PathEnd(5)
            root.middle.value = PathMiddle(PathEnd(4))
            shared.middle.value = PathMiddle(nil)
            worker.checkRemoval(kind, zip(counters, before).map { $0.calls - $1 })
            for token in tokens { token.cancel() }
        }

        round.checkRest()
    }
}

private final class Owner: Sendable {}

/// The way in which observations are removed.
private enum Removal: Int, CaseIterable {
    case byOwner = 1
    case byObject, byProperty, byInnerProperty

    var window: Int { rawValue }

    /// The number of times that each observer is called after the removal: the direct one, the
    /// path's, the owner's, and the one of the inner property.
    var calls: [UInt64] {
        switch self {
        // The path begins with the property, or at the object that has it.
        case .byProperty, .byObject: [0, 0, 1, 1]
        // The path only leads through the property, so its observation goes on.
        case .byInnerProperty: [1, 3, 4, 0]
        case .byOwner: [1, 3, 0, 1]
        }
    }
}

/// Counts calls on the thread that makes the changes. Calls on other threads are not counted.
private final class Counter: Sendable {
    private let thread = Worker.current?.index
    private let count = Tally()

    var calls: UInt64 { count.value }

    func note() {
        checkUserCode("callback")
        if Worker.current?.index == thread { count.increment() }
    }
}

extension Worker {
    /// Checks how often each observer was called after three changes of the path and one change of
    /// a property that all threads share. Two changes of the path replace a step.
    fileprivate func checkRemoval(_ kind: Removal, _ received: [UInt64]) {
        for (observer, calls) in received.enumerated() {
            let expected = kind.calls[observer]
            check(calls == expected, expected == 0 ? "P8.silent-after-removal" : "P8.others-go-on") {
                "\(kind): the observers received \(received), not \(kind.calls)"
            }
        }
    }
}
