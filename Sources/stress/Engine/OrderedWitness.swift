// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Checks the changes of one observer, which come one at a time, as they arrive. (P1, P2, P4, P12)
final class OrderedWitness: @unchecked Sendable {
    // Unchecked: the running callback uses all parts that are not atomic. The test checks that only
    // one runs at a time: ThreadSanitizer reports callbacks that are not ordered.

    /// The last change that was received. Read it at rest, after `received`.
    private(set) var last: Received?
    private(set) var checks: UInt64 = 0

    /// The number of events whose callback has returned. Release: pairs with the acquire in
    /// `settle`.
    private let received = Atomic<UInt64>(0)
    private let latest = Atomic<UInt64>(0)
    private let isRunning = Atomic<Bool>(false)
    /// Whether the observation has ended, for any reason.
    private let isOver = Atomic<Bool>(false)
    private let isSourceDeleted = Atomic<Bool>(false)

    private let violations: Violations
    let name: String
    let mayLeaveOut: Bool
    private let keepsOwnOld: Bool
    private let beginsWithInitial: Bool

    /// A change, with the numbers of its values.
    struct Received: Sendable {
        let reason: ChangeReason
        let version: UInt64
        let old: UInt64?
        let new: UInt64

        init<Value>(_ change: Change<Value>, _ number: (Value) -> UInt64) {
            reason = change.reason
            version = change.version
            old = change.old.map(number)
            new = number(change.new)
        }
    }

    /// Makes a witness.
    ///
    /// - Parameters:
    ///   - name: The observer's name in messages.
    ///   - buffering: The observer's policy. It decides whether changes may be left out, and
    ///     whether a change after a gap must have the last received value as its old value.
    ///   - beginsWithInitial: Whether the observer has asked for the initial delivery.
    init(_ name: String, _ round: Round, _ buffering: Buffering = .unbounded, beginsWithInitial: Bool = false) {
        (self.name, violations, self.beginsWithInitial) = (name, round.violations, beginsWithInitial)
        mayLeaveOut = buffering != .unbounded
        if case .droppingNewest = buffering { keepsOwnOld = true } else { keepsOwnOld = false }
    }

    /// The number of events that were received.
    var count: UInt64 { received.load(ordering: .acquiring) }

    /// The version that was received last, or 0. Threads other than the callback's use it.
    var lastVersion: UInt64 { latest.load(ordering: .acquiring) }

    /// Whether the end of the source was received.
    var hasReceivedEnd: Bool { isSourceDeleted.load(ordering: .acquiring) }

    /// Adds a listener for the end of the observation. After the end, whatever its reason, no
    /// callback may come. (P12)
    func listen(to token: ObservationToken) {
        token.onEnd { [self] end in
            checkUserCode("onEnd body")
            isOver.store(true, ordering: .releasing)
            if end == .sourceDeleted { isSourceDeleted.store(true, ordering: .releasing) }
        }
    }

    /// Checks a change. The callback passes its own argument.
    ///
    /// - Parameter body: The rest of the callback.
    func receive<Value: Distinct>(_ change: Change<Value>, _ body: () -> Void = {}) {
        receive(.init(change, \.serial), body)
    }

    /// Checks a change whose values the caller has replaced by numbers.
    ///
    /// - Parameter body: The rest of the callback.
    func receive(_ change: Received, _ body: () -> Void = {}) {
        checkUserCode("callback")
        // Relaxed: it must not order the callbacks, which the library does.
        check(!isRunning.exchange(true, ordering: .relaxed), "P2.one-at-a-time", "two callbacks run at once")
        checkPlace(of: change)
        body()
        last = change
        latest.store(change.version, ordering: .releasing)
        isRunning.store(false, ordering: .relaxed)
        received.store(received.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    private func checkPlace(of change: Received) {
        check(!isOver.load(ordering: .relaxed), "P12.end-last", "version \(change.version) after the end")
        guard let last else {
            check((change.reason == .initial) == beginsWithInitial || mayLeaveOut, "P4.initial-first") {
                "began with \(change.reason), version \(change.version)"
            }
            return
        }
        check(change.reason != .initial, "P4.initial-first", "the initial value after version \(last.version)")
        check(change.version > last.version, "P2.ordered", "version \(change.version) after \(last.version)")
        let isNext = change.version == last.version &+ 1
        check(isNext || mayLeaveOut, "P1.ordered-once", "version \(change.version) after \(last.version)")
        check(change.old == last.new || !isNext && keepsOwnOld, "P2.ordered-chain") {
            "version \(change.version) has the old value \(text(change.old)), but \(last.new) was received last"
        }
    }

    func check(_ holds: Bool, _ invariant: StaticString, _ message: @autoclosure () -> String) {
        checks &+= 1
        if !holds { violations.report(invariant.description, "\(name): \(message())") }
    }

    private func text(_ number: UInt64?) -> String { number.map { "\($0)" } ?? "nothing" }
}

extension OrderedWitness {
    /// Waits at rest until every event is received or dropped, as long as there is progress. (P1)
    ///
    /// - Returns: The counts at the end.
    @discardableResult
    func settle(_ round: Round, _ counts: () -> DeliveryCounts) -> DeliveryCounts {
        round.wait(
            for: "P1.counts-add-up",
            "\(name): \(counts()), \(count) callbacks have returned, and nothing moves",
            moving: { count }
        ) {
            let now = counts()
            return now.pending == 0 && count == now.received
        }
        round.add(checks: checks)
        return counts()
    }
}
