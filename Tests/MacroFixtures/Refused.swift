// SPDX-License-Identifier: Apache-2.0
//
// Classes that `@ConcurrentObservable` or the library refuses. Scripts/check-macro.sh compiles them
// and expects each message once, at the line that has it behind `// error:`, and no other: the same
// with the main actor as the module's default isolation. What a model uses and is no model says
// `nonisolated` for that.

import ConcurrentObserveMacros

protocol Delegate: AnyObject, Sendable {}

@ConcurrentObservable
class Base {  // error: needs a final class
    init() {}
}

nonisolated class Subclass: Base {}  // warning: must restate inherited

@ConcurrentObservable  // error: needs a final class
struct Value {}

@ConcurrentObservable @MainActor  // error: which no actor isolates
final class Isolated {
    var a = 1
}

@ConcurrentObservable
final class Members {
    lazy var lazily = 1  // error: a lazy variable cannot be observed
    var closure = { 1 }  // error: 'closure' needs its type written
    var anything: Any = 1  // error: 'Any' is not Sendable
    var watched = 1 { didSet {} }  // error: has no 'didSet'
    var one = 1, two = 2  // error: declared one by one
    weak var delegate: (any Delegate)?  // error: a weak property refers to one class
    weak var object: AnyObject?  // error: a weak property refers to one class
    init() {}
}

nonisolated final class Plain: Sendable {}

class Loose {}

@ConcurrentObservable
final class Referring {
    var name = "a"
    weak var plain: Plain?  // error: type 'Plain' does not conform to protocol 'WeaklyObservable'
}

@ConcurrentObservable
final class Coded: Codable {  // error: cannot be written by the compiler for observed variables
    var name = "a"
}

@ConcurrentObservable
final class Named {
    struct Properties {}  // error: give this type another name
    var name = "a"
}

@ConcurrentObservable
final class Early {
    var name = "a"
    var mileage: Int

    init(_ text: String) {
        name = text  // error: setting it is a change, which can be made when 'mileage' has its value
        mileage = 1
    }

    init(_ text: String, _ number: Int) {
        if number > 0 {
            self.name = text  // error: setting it is a change
        }
        mileage = number
    }
}

@ConcurrentObservable
final class Hidden {
    private(set) var level = 1
    private(set) var state = [1]
}

func change(_ model: Hidden) {
    model.observedProperties.level.value = 2  // error: 'value' is a get-only property
    model.observedProperties.state.value = []  // error: 'value' is a get-only property
    model._level.value = 3  // error: '_level' is inaccessible due to 'private' protection level
}

final class ByHand: ConcurrentObservable {
    let name = Observed("a")
}

func remove(_ model: ByHand) {
    model.cancelAllObservations()  // error: adopt 'ObservationSource'
}

func removeAny(_ model: some ConcurrentObservable) {
    model.cancelAllObservations()  // error: adopt 'ObservationSource'
}

@ConcurrentObservable
final class Unfollowed {
    var level = 1
    var plain: Int { level }
    @ConcurrentDerived var a: Int { plain }  // error: mark it '@ConcurrentDerived'
    @ConcurrentDerived var b: Int { next() }  // error: make it static
    @ConcurrentDerived var c: Int { d }  // error: needs itself
    @ConcurrentDerived var d: Int { c }  // error: needs itself
    @ConcurrentDerived var e = 1  // error: nothing but a getter
    func next() -> Int { level }
}

final class Shop: ConcurrentObservable {
    let name = Observed("a")
    let car = Observed(Referring())
    var count: Int { 1 }
}

nonisolated func count(_ shop: Shop) -> Int { shop.count }

@resultBuilder
nonisolated enum Doubler {
    static func buildBlock(_ x: Int) -> Int { x * 2 }
}

@ConcurrentObservable
final class Itself {
    var shop = Shop()
    var spare: Shop?
    var shops: [Shop] = []
    @ConcurrentDerived var typed: Int { let s: Shop = shop; return s.count }  // error: used as itself
    @ConcurrentDerived var passed: Int { count(shop) }  // error: used as itself
    @ConcurrentDerived var member: Int { shop.count }  // error: the member is not observed
    @ConcurrentDerived var bound: Int { if let s: Shop = spare { s.count } else { 0 } }  // error: used as itself
    @ConcurrentDerived var properties: Int { shop.observedProperties.count }  // error: the member is not observed
    @ConcurrentDerived var result: Shop { shop }  // error: used as itself
    @ConcurrentDerived var mapped: Int { shops.map(count)[0] }  // error: used as itself
    @Doubler @ConcurrentDerived var doubled: Int { 1 }  // error: cannot be combined with '@ConcurrentDerived'
    @ConcurrentDerived var opaque: Int! { 1 }  // error: needs the type of its results
    @ConcurrentDerived func next() -> Int { 1 }  // error: in the body of a class
}

@ConcurrentObservable
final class Deeper {
    var itself = Itself()
    @ConcurrentDerived var a: Int { count(itself.shop) }  // error: can throw // warning: used as itself
}

@ConcurrentObservable
final class Holding {
    let shop: Shop
    let spare: Shop?
    init(_ shop: Shop) { (self.shop, spare) = (shop, shop) }
}

@ConcurrentObservable
final class DeeperStill {
    var holding = Holding(Shop())
    @ConcurrentDerived var a: Int { count(holding.shop) }  // error: can throw // warning: used as itself
    @ConcurrentDerived var b: Shop? { holding.spare }  // error: can throw // warning: used as itself
}

@ConcurrentObservable
final class Keeping {
    let shop: Shop
    @ConcurrentDerived var a: Int { count(shop) }  // error: used as itself
    init(_ shop: Shop) { self.shop = shop }
}

struct Unmodelled {
    @ConcurrentDerived var a: Int { 1 }  // error: in the body of a class that is '@ConcurrentObservable'
}
