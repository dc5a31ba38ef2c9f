// SPDX-License-Identifier: Apache-2.0
//
// Classes that `@ConcurrentObservable` or the library refuses. Scripts/check-macro.sh compiles them and expects each
// message once, at the line that has it behind `// error:`, and no other.

import ConcurrentObserveMacros

protocol Delegate: AnyObject, Sendable {}

@ConcurrentObservable
class Base {  // error: needs a final class
    init() {}
}

class Derived: Base {}  // warning: must restate inherited

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

final class Plain: Sendable {}

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
