// SPDX-License-Identifier: Apache-2.0
//
// A cache that is never stale: what it keeps is thrown away inside the change that makes it wrong,
// before the setter returns.

import ConcurrentObserve
import Dispatch
import Synchronization

final class Product: ConcurrentObservable {
    let name: String
    let price: Observed<Int>

    init(_ name: String, price: Int) {
        self.name = name
        self.price = Observed(price)
    }
}

final class Shop: ConcurrentObservable {
    let special = Observed(Product("tea", price: 300))
    let taxRate = Observed(20)
}

/// The label of the shop's special, computed when it is read for the first time after a change.
final class LabelCache: Sendable {
    private struct Entry {
        /// Grows with every invalidation.
        var generation = 0
        var label: String?
        var computed = 0
    }

    private let shop: Shop
    private let entry = Mutex(Entry())
    private let bag = ObservationBag()

    init(_ shop: Shop) {
        self.shop = shop
        // Inline: on the thread that makes the change, before its setter returns. The path follows
        // when the shop has another special. The observations do not retain `self`.
        for number in [shop.property(\.special.price), shop.property(\.taxRate)] {
            number.observe(owner: self) { cache, _ in cache.invalidate() }.store(in: bag)
        }
    }

    var computed: Int { entry.withLock { $0.computed } }

    var label: String {
        while true {
            let (generation, kept) = entry.withLock { ($0.generation, $0.label) }
            if let kept { return kept }
            // Under no lock: computing may take long, and changes go on.
            let product = shop.special.value
            let label = "\(product.name) \(product.price.value * (100 + shop.taxRate.value) / 100)"
            let isCurrent = entry.withLock { entry in
                entry.computed += 1
                // If an invalidation came in between, the values that were read may be older.
                guard entry.generation == generation else { return false }
                entry.label = label
                return true
            }
            if isCurrent { return label }
        }
    }

    private func invalidate() {
        entry.withLock { entry in
            entry.generation += 1
            entry.label = nil
        }
    }
}

let shop = Shop()
let cache = LabelCache(shop)

print("--- computed once")
print(cache.label, cache.label, "computed: \(cache.computed)")

print("--- a price, the rate, another product")
shop.special.value.price.value = 400
print(cache.label)
shop.taxRate.value = 10
print(cache.label)
let tea = shop.special.value
shop.special.value = Product("coffee", price: 500)
print(cache.label, cache.label, "computed: \(cache.computed)")

print("--- a product that is no special any more invalidates nothing")
tea.price.value = 1
print(cache.label, "computed: \(cache.computed)")

print("--- a thread that makes a change reads its effect")
let stale = Atomic(0)
DispatchQueue.concurrentPerform(iterations: 4) { thread in
    for round in 1...250 {
        // Prices only grow here, and one thread's change is followed by its own read.
        let price = shop.special.value.price.modify { price in
            price += thread + round
            return price
        }
        let shown = Int(cache.label.split(separator: " ")[1])!
        if shown < price * 110 / 100 { stale.add(1, ordering: .relaxed) }
    }
}
print("stale reads: \(stale.load(ordering: .relaxed)) of 1000")
