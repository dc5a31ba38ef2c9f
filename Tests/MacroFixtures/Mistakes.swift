// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file
//
// Mistakes that users make with derived values, commits, observations and key paths.
// Scripts/check-macro.sh compiles them and expects each message once, at the line that has it
// behind `// error:`, and no other. The article CompilerMessages has the text of each.

import ConcurrentObserve

final class Engine: ConcurrentObservable {
    let rpm = Observed(0)
    let number = 7
}

final class Car: ConcurrentObservable {
    let name = Observed("Beetle")
    let engine = Observed(Engine())
    let engines = Observed(["left": Engine()])
    let year = 1967
}

func derive(_ car: Car, _ a: Observed<Int>, _ b: Observed<Double>) {
    _ = Derived { get in get(a).foo }  // error: value of type 'Int' has no member 'foo'
    _ = Derived { get in get(a) + get(b) }  // error: binary operator '+' cannot be applied to operands of type 'Int' and 'Double'
    _ = Derived { get in get(5) }  // error: instance method 'callAsFunction' requires that 'Int' conform to 'ObservableProperty'
    _ = Derived { get(a) }  // error: cannot find 'get' in scope // error: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
    _ = Derived { get in get.follow(car.engine).number }  // error: the member is not observed, so that a derived value cannot follow it
    _ = Derived { get in get.follow(car.engines) }  // error: instance method 'follow' requires the types '[String : Engine]' and '[Element]' be equivalent
    _ = Derived { get in get.follow(car.name) }  // error: instance method 'follow' requires the types 'String' and '[Element]' be equivalent
    _ = Derived(a) { $0.foo }  // error: value of type 'Int' has no member 'foo'
    _ = Derived(a, b) { $0 + $1 }  // error: binary operator '+' cannot be applied to operands of type 'Int' and 'Double'
    _ = Derived(a, b) { pair in pair }  // error: contextual closure type '@Sendable (Int, Double) -> Int' expects 2 arguments, but 1 was used in closure body
    _ = Derived(a, 5) { $0 + $1 }  // error: no exact matches in call to initializer
    _ = Derived { 5 }  // error: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
}

func commit(_ a: Observed<Int>, _ b: Observed<Double>, _ total: Derived<Int>) {
    Group(a, b).commit { transaction in transaction[a] = "text" }  // error: cannot assign value of type 'String' to subscript of type 'Int'
    Group(a, b).commit { transaction in transaction[a].foo() }  // error: value of type 'Int' has no member 'foo'
    Group(a, b).commit { transaction in transaction[total] = 1 }  // error: no exact matches in call to subscript
    Group(a, b).commit { transaction in transaction[5] = 1 }  // error: cannot convert value of type 'Int' to expected argument type 'Observed<Int>'
    Group(a, b).commit { transaction in a += 1 }  // error: cannot convert value of type 'Observed<Int>' to expected argument type 'Int'
    Group(a, b).commit { a, b in a += 1 }  // error: contextual closure type '(borrowing Transaction) -> ()' expects 1 argument, but 2 were used in closure body // error: cannot convert value of type 'Transaction' to expected argument type 'Int'
}

func observe(_ car: Car, _ a: Observed<Int>) {
    _ = a.observe { change in change.foo }  // error: value of type 'Change<Int>' has no member 'foo'
    _ = a.observe { print("changed") }  // error: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
    _ = a.observe(options: .initail) { change in print(change) }  // error: type 'ObservationOptions' has no member 'initail'
    a = 5  // error: cannot assign to value: 'a' is a 'let' constant // error: cannot assign value of type 'Int' to type 'Observed<Int>'
    a.value = "text"  // error: cannot assign value of type 'String' to type 'Int'
}

func follow(_ car: Car) {
    _ = car.observe(\.nmae) { change in print(change.new) }  // error: no exact matches in reference to subscript
    _ = car.observe(\.engine.rmp) { change in print(change.new) }  // error: no exact matches in reference to subscript
    _ = car.observe(\.year) { change in print(change.new) }  // error: 'observe(_:options:delivery:_:)' is unavailable: the path ends in a member that is not observed
    _ = car.observe(\.name.value) { change in print(change.new) }  // error: no exact matches in reference to subscript
    _ = car.property(\.engine.number)  // error: 'property' is unavailable: the path ends in a member that is not observed
    _ = car.property(\.nmae)  // error: no exact matches in reference to subscript
}
