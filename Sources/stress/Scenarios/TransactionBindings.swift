// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Commits change properties that are bound to others. Each destination follows by itself.
    static let transactionBindings = Scenario(
        name: "transaction-bindings",
        summary:
            "commits that bindings follow: through transforms, chains, pairs, paths and groups, while bindings end",
        invariants: [
            "P21.whole", "P21.one-number", "P3.destination-follows", "P3.pair-converges", "P6.propagation-bounded",
            "P9.nothing-after-wait", "P5.no-lock-around-user-code",
        ] + checkedAtRest,
        windows: ["two commits met on the pairs", "a binding ended beside a commit", "a transform committed"],
        leastThreads: 3
    ) { round in
        let bound = BoundValues(round)
        round.load { worker in
            worker.holdBack(bound.mailbox)
            switch worker.generator.below(8) {
            case 0...2:
                worker.begin("commit left")
                bound.commitLeft()
            case 3...4:
                worker.begin("commit right")
                let before = bound.left.0.version
                bound.commitRight()
                if bound.left.0.version > before + 1 { worker.hit(0) }
            case 5: worker.bindForAWhile(bound)
            case 6: worker.goRound()
            default: worker.setRing()
            }
        }
        bound.settle(round)
        round.checkRest()
    }
}

/// Two properties that commits change together, and the properties that are bound to them.
private final class BoundValues: Sendable {
    let left = (Observed<UInt64>(0), Observed<UInt64>(0))
    /// Bound to the left properties in both directions. The second one has every bit inverted.
    let right = (Observed<UInt64>(0), Observed(~UInt64(0)))
    /// Follow the left properties. The second one has values of its own type.
    let near = (Observed<UInt64>(0), Observed(TrackedValue(serial: 0)))
    /// Follow `near`.
    let far = (Observed<UInt64>(0), Observed<UInt64>(0))
    /// Follows both left properties at once.
    let both = Observed(Both(first: 0, second: 0))
    /// Follows the first left property through a path.
    let byPath = Observed<UInt64?>(0)
    private let root: PathMiddle
    private let bindings: [ObservationToken]
    private let witnesses: [ObservationToken]

    private let leftGroup, rightGroup: Group<(UInt64, UInt64)>

    struct Both: Sendable { let first, second: UInt64 }

    init(_ round: Round) {
        root = PathMiddle(PathEnd(left.0))
        rightGroup = Group(right.1, right.0)
        leftGroup = Group(left.0, left.1)
        bindings = [
            left.0.bind(to: near.0),
            left.1.bind(to: near.1) { value in
                checkUserCode("transform")
                return TrackedValue(serial: value)
            },
            near.1.bind(to: far.1) { $0.serial },
            near.0.bind(to: far.0),
            left.0.bindBidirectionally(with: right.0),
            right.1.bindBidirectionally(with: left.1, forward: { ~$0 }, backward: { ~$0 }),
            leftGroup.bind(to: both) { Both(first: $0.0, second: $0.1) },
            root.property(\.end.number).bind(to: byPath),
        ]
        let violations = round.violations
        witnesses = [
            Group(near.0, near.1).observe(delivery: .serial()) { _ in checkUserCode("callback") },
            Group(far.0, far.1).observe { _ in checkUserCode("callback") },
            rightGroup.observe { change in
                checkUserCode("callback")
                // The values belong together if a commit of the right properties has made the
                // change.
                let isWhole = change.commit == nil || change.new.1 == ~change.new.0
                violations.check(isWhole, "P21.whole", "an observer of the right ones received \(change)")
            },
            near.0.observe { violations.checkOfBinding($0) },
        ]
    }

    /// The token of an observation with a mailbox.
    var mailbox: ObservationToken { witnesses[0] }

    func commitLeft() {
        leftGroup.commit { transaction in
            transaction[left.1] += 1
            transaction[left.0] = transaction[left.1]
        }
    }

    func commitRight() {
        rightGroup.commit { transaction in
            transaction[right.0] += 1
            transaction[right.1] = ~transaction[right.0]
        }
    }

    /// Waits at rest until the bound properties have the last values, and checks them.
    func settle(_ round: Round) {
        guard round.violations.isEmpty else { return }
        let (first, second) = leftGroup.value
        round.check(right.0.value == first && ~right.1.value == second, "P3.pair-converges") {
            "the left ones are \(first) and \(second), the right ones \(right.0.value) and \(~right.1.value)"
        }
        let followers = [near.0.value, far.0.value, byPath.value ?? 0, both.value.first]
        let others = [near.1.value.serial, far.1.value, both.value.second]
        round.check(
            followers.allSatisfy { $0 == first } && others.allSatisfy { $0 == second },
            "P3.destination-follows",
            "the left ones are \(first) and \(second), what follows them \(followers) and \(others)"
        )
        for token in bindings + witnesses { token.cancelAndWaitBlocking() }
    }
}

extension Violations {
    fileprivate func checkOfBinding(_ change: Change<UInt64>) {
        check(change.commit == nil, "P21.one-number", "a binding has made a change with a commit's number: \(change)")
    }
}

extension Worker {
    /// Binds two properties that only this thread uses, and ends the binding again.
    fileprivate func bindForAWhile(_ bound: BoundValues) {
        begin("bind and end")
        let (first, second) = (Observed<UInt64>(0), Observed<UInt64>(0))
        let tokens = [bound.left.0.bind(to: first), bound.left.1.bindBidirectionally(with: second)]
        let violations = round.violations
        let numbers = [first, second].map { $0.observe { violations.checkOfBinding($0) } }
        bound.commitLeft()
        if generator.oneIn(2) { for token in tokens { token.cancel() } }
        for token in tokens { token.cancelAndWaitBlocking() }
        let versions = (first.version, second.version)
        for token in numbers { token.cancelAndWaitBlocking() }
        bound.commitLeft()
        check((first.version, second.version) == versions, "P9.nothing-after-wait") {
            "a binding has changed its destination after its end"
        }
        hit(1)
    }

    /// Makes rings of bindings that only this thread uses. A commit goes round each of them once. A
    /// transform commits, too.
    fileprivate func goRound() {
        begin("go round")
        let (first, second) = (Observed(0), Observed(0))
        let (third, fourth, other) = (Observed(0), Observed(0), Observed(0))
        let tokens = [
            first.bind(to: third) { $0 + 1 },
            second.bind(to: fourth) { value in
                Group(other, other).commit { transaction in transaction[other] += 1 }
                return value + 1
            },
            third.bind(to: first) { $0 + 1 }, fourth.bind(to: second) { $0 + 1 },
        ]
        let calls = Tally()
        let witness = Group(third, fourth).observe { change in
            if calls.increment() > 64 { fatalError("a commit goes round a ring for ever") }
        }
        let before = (first.value, other.value)
        Group(first, second).commit { transaction in
            transaction[first] = 10
            transaction[second] = 10
        }
        let values = [first.value, second.value, third.value, fourth.value]
        check(values == [12, 12, 11, 11] && other.value > before.1, "P6.propagation-bounded") {
            "a commit that went round a ring has left \(values), from \(before)"
        }
        withExtendedLifetime((tokens, witness)) {}
        hit(2)
    }

    /// Makes a ring of bindings that only this thread uses. A commit sets all of its properties.
    fileprivate func setRing() {
        begin("set a ring")
        let ring = (0...generator.below(4) + 1).map { _ in Observed(0) }
        let tokens = ring.indices.map { ring[$0].bind(to: ring[($0 + 1) % ring.count]) }
        PropertyList(ring).commit { transaction in
            for (index, property) in ring.enumerated() { transaction[property] = index }
        }
        check(Set(ring.map(\.value)).count == 1, "P3.destination-follows") {
            "a commit of all properties of a ring has left \(ring.map(\.value))"
        }
        withExtendedLifetime(tokens) {}
    }
}
