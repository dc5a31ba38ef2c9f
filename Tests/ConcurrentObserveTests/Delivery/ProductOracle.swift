// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A filter between a property and its observer, in the product of policies.
enum ProductFilter: String, CaseIterable, Sendable {
    case none, distinct, twice, rule

    /// Returns whether an observer need not receive the second value after the first.
    func leavesOut(_ first: Int, _ second: Int) -> Bool {
        switch self {
        case .none: false
        case .distinct, .twice: first == second
        case .rule: productRule(first, second)
        }
    }

    /// Whether the filter lets the death of a referent be noticed. A derived value would prevent
    /// it.
    var retainsReferents: Bool { self == .rule }
}

/// Returns whether two values count as equal. If the first equals the second, and the second the
/// third, the first need not equal the third.
@Sendable
func productRule(_ first: Int, _ second: Int) -> Bool { first >= 0 && second >= 0 && abs(first - second) < 2 }

/// The number of a value that is nil.
let productNil = -1

/// The value of a property, as the oracle knows it.
struct ProductValue: Sendable, Equatable {
    let number: Int
    /// Whether the value is nil by now: a weak property's referent that has died.
    let isDead: Flag?

    init(_ number: Int, isDead: Flag? = nil) { (self.number, self.isDead) = (number, isDead) }

    static func == (left: ProductValue, right: ProductValue) -> Bool {
        left.number == right.number && left.isDead === right.isDead
    }

    var isGone: Bool { isDead?.isSet ?? false }
    var seen: Int { isGone ? productNil : number }
}

/// A mailbox with one policy that takes one event at a time. It knows which changes are delivered
/// and counted.
struct ProductOracle {
    struct Event {
        let reason: ChangeReason
        let value: ProductValue
        let version: UInt64
        /// The value of the property before.
        var before: ProductValue?
    }

    let buffering: Buffering
    let filter: ProductFilter
    /// The value that the observer has received last, or the property's value when the observation
    /// began. Nil if an initial delivery was asked for, and nothing has been delivered.
    private(set) var last: ProductValue?
    /// The part of that value that the observer has seen.
    private var lastSeen: Int
    private(set) var received: [String] = []
    private(set) var dropped = 0
    private var waiting: [Event] = []

    init(_ buffering: Buffering, _ filter: ProductFilter, registered: ProductValue?) {
        (self.buffering, self.filter, last) = (buffering, filter, registered)
        lastSeen = registered?.seen ?? productNil
    }

    var parts: [UInt64] { [UInt64(received.count + dropped + waiting.count), UInt64(received.count), UInt64(dropped)] }

    /// Takes an event, according to the policy.
    mutating func put(_ event: Event) {
        if let capacity, waiting.count == capacity {
            if case .droppingNewest = buffering { return dropped += 1 }
            // A prior event makes no room for itself: it is dropped.
            if event.reason == .prior { return dropped += 1 }
            if waiting.removeFirst().reason != .prior {
                while waiting.first?.reason == .prior { dropFirst() }
            }
            dropped += 1
        }
        waiting.append(event)
    }

    private mutating func dropFirst() {
        waiting.removeFirst()
        dropped += 1
    }

    private var capacity: Int? {
        switch buffering {
        case .unbounded: nil
        case .latest: 1
        case .droppingOldest(let capacity), .droppingNewest(let capacity): capacity
        }
    }

    /// Delivers everything.
    mutating func drain() {
        while !waiting.isEmpty { deliverFirst() }
    }

    /// Delivers up to the last event that is not left out. An iterator looks at the others when it
    /// asks again.
    ///
    /// - Returns: The number of delivered events.
    mutating func drainThroughLast() -> Int {
        var (copy, count, before) = (self, 0, received.count)
        for index in waiting.indices {
            copy.deliverFirst()
            if copy.received.count > before { (count, before) = (index + 1, copy.received.count) }
        }
        let delivered = received.count
        for _ in 0..<count { deliverFirst() }
        return received.count - delivered
    }

    /// Whether a change to a value would be delivered now.
    func wouldDeliver(_ value: ProductValue) -> Bool { last == nil || !leavesOut(value) }

    /// Whether the value that was received last has died since. No value equals it then.
    private var hasLost: Bool { last?.isGone == true && lastSeen != productNil }

    private func leavesOut(_ value: ProductValue) -> Bool { !hasLost && filter.leavesOut(lastSeen, value.seen) }

    private mutating func deliverFirst() {
        let event = waiting.removeFirst()
        var old = "-"
        if event.reason != .initial, event.reason != .prior, last != nil {
            if event.reason == .valueChanged, leavesOut(event.value) {
                // A rule compares with what was received itself.
                if filter != .rule { (last, lastSeen) = (event.value, event.value.seen) }
                return
            }
            let compares = filter == .distinct || filter == .twice
            if case .droppingNewest = buffering, filter == .none {
                // Nothing is kept that was received.
                old = "\(event.before!.seen)"
            } else if !hasLost {
                old = "\(lastSeen)"
            } else if !compares {
                old = "\(productNil)"
            }
        }
        received.append("\(event.reason) \(old) → \(event.value.seen) @\(event.version)")
        (last, lastSeen) = (event.value, event.value.seen)
    }
}
