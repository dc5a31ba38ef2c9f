// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    /// Tests every policy with every filter, kind of property and delivery. Compares the delivered
    /// and counted changes with an oracle that takes one event after the other.
    @Suite("P1 P2 P3 P4 The product of policies, filters, properties and deliveries", .timeLimit(.minutes(5)))
    struct PolicyProductTests {}
}

private struct ProductCase: CustomStringConvertible {
    let kind: ProductKind
    let filter: ProductFilter
    let buffering: Buffering
    let delivery: ProductDelivery
    let options: ObservationOptions
    let seed: UInt64

    var description: String { "\(kind) \(filter) \(buffering) \(delivery) \(options.rawValue) \(seed)" }

    static func all(_ kind: ProductKind, _ filter: ProductFilter) -> [ProductCase] {
        var cases: [ProductCase] = []
        for delivery in ProductDelivery.allCases {
            let all: [Buffering] = [.unbounded, .latest, .droppingOldest(3), .droppingNewest(3)]
            for buffering in delivery == .inline ? [.unbounded] : all {
                for options: ObservationOptions in [[], .initial, [.initial, .prior]] {
                    if options.contains(.prior), !kind.hasPrior || filter == .rule || delivery == .values { continue }
                    let seed = UInt64(cases.count) + 100 * UInt64(ProductKind.allCases.firstIndex(of: kind)!)
                    cases.append(
                        ProductCase(
                            kind: kind,
                            filter: filter,
                            buffering: buffering,
                            delivery: delivery,
                            options: options,
                            seed: seed
                        )
                    )
                }
            }
        }
        return cases
    }
}

extension Promises.PolicyProductTests {
    @Test(
        "P1 P2 P3 P4 What is delivered, its old values and versions, the counts, and the end",
        arguments: ProductKind.allCases
    )
    func product(kind: ProductKind) async throws {
        for filter in kind.filters {
            for single in ProductCase.all(kind, filter) { try await ProductRun(single).run() }
        }
    }
}

/// One combination. It makes several changes at once, during which nothing is delivered.
private final class ProductRun {
    private let single: ProductCase
    private var subject: ProductSubject!
    private var oracle: ProductOracle
    private var random: Numbers
    private let listener = ProductListener()
    private var attachment: (any ProductAttachment)!

    init(_ single: ProductCase) {
        self.single = single
        subject = ProductSubject(single.kind, single.filter, sendsPrior: single.options.contains(.prior))
        oracle = ProductOracle(
            single.delivery == .inline ? .unbounded : single.buffering,
            single.filter,
            registered: single.options.contains(.initial) ? nil : subject.shown
        )
        random = Numbers(single.seed)
    }

    func run() async throws {
        subject.willChange = { [unowned self] event in
            oracle.put(event)
            if single.delivery == .inline || isIdleSerial && single.delivery == .serial { oracle.drain() }
        }
        if single.delivery.holdsInitial { await listener.suspend(single.delivery) }
        if single.options.contains(.initial) {
            oracle.put(ProductOracle.Event(reason: .initial, value: subject.shown, version: 0))
            if !single.delivery.holdsInitial { oracle.drain() }
        }
        attachment = subject.begin(
            ProductBeginning(
                options: single.options,
                buffering: single.buffering,
                delivery: single.delivery,
                listener: listener
            )
        )
        for round in 0..<4 {
            try await burst(isFirst: round == 0)
            check("after burst \(round)")
        }
        if single.buffering.dropsNothingNew { expectConvergence() }
        try await end()
    }

    /// Releases the source while changes wait. They must come first. (P12)
    private func end() async throws {
        isIdleSerial = true
        await listener.suspend(single.delivery)
        changes()
        attachment.release()
        let referents = subject.referents
        subject = nil
        listener.resume(single.delivery)
        oracle.drain()
        while single.delivery.isSequence, listener.endCount == 0 { await attachment.pull(listener) }
        try await eventuallyAsync("the end of \(single)") { listener.endCount == 1 }
        check("at the end")
        await attachment.flush()
        withExtendedLifetime(referents) {}
    }

    private var isIdleSerial = false

    private func burst(isFirst: Bool) async throws {
        switch single.delivery {
        case .inline: changes()
        case .serial: try await serialBurst()
        case .queue, .actor:
            if !isFirst { await listener.suspend(single.delivery) }
            changes()
            listener.resume(single.delivery)
            await attachment.flush()
            oracle.drain()
        case .changes, .values:
            changes()
            let count = oracle.drainThroughLast()
            for _ in 0..<count { await attachment.pull(listener) }
        }
    }

    /// Makes changes while another thread is in the callback of a change.
    private func serialBurst() async throws {
        let subject = subject!
        let number = (0..<12).shuffled(using: &random).first { number in
            subject.wouldChange(number) && oracle.wouldDeliver(subject.value(of: number))
        }
        guard let number else {
            isIdleSerial = true
            changes()
            isIdleSerial = false
            return
        }
        let (entered, exit) = (Signal("a callback"), Signal("its release"))
        listener.holdNext(entered, exit)
        isIdleSerial = true
        // Safe: this task waits while that thread has them.
        nonisolated(unsafe) let taken = subject
        let setter = TestThread { unsafe taken.set(number) }
        try await entered.arrival()
        isIdleSerial = false
        changes()
        exit.happen()
        try setter.join()
        await attachment.flush()
        oracle.drain()
    }

    private func changes() {
        for _ in 0..<random.below(7) {
            let number = random.below(4) * (random.below(3) == 0 ? 3 : 1)
            switch random.below(8) {
            case 0 where subject.kind.canRelink: subject.relink(number, orNowhere: random.below(2) == 0)
            case 1 where subject.kind.isWeak && !single.filter.retainsReferents:
                subject.kill(random.below(8), except: single.delivery == .serial ? oracle.last : nil)
            default: subject.set(number)
            }
        }
    }

    private func check(_ when: String) {
        let expected = single.delivery == .values ? oracle.received.map { $0.onlyNew } : oracle.received
        #expect(listener.received == expected, "\(single), \(when)")
        if let parts = attachment.counts?.parts { #expect(parts == oracle.parts, "\(single), \(when)") }
    }

    private func expectConvergence() {
        guard let last = oracle.last else { return }
        let present = subject.shown.seen
        let isNear = last.seen == present || single.filter.leavesOut(last.number, present)
        #expect(isNear, "\(single): \(last.seen) was received last, and \(present) is there")
    }
}

extension Buffering {
    fileprivate var dropsNothingNew: Bool { if case .droppingNewest = self { false } else { true } }
}

extension String {
    /// The new value from a line "reason old → new @version".
    fileprivate var onlyNew: String { String(split(separator: " ").dropLast().last!) }
}

/// Numbers that are the same in each run.
private struct Numbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
