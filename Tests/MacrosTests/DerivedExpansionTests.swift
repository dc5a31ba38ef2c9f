// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("@ConcurrentDerived expands")
struct DerivedExpansionTests {
    @Test("Reads of variables, constants and other derived variables; what the body declares is the body's")
    func bodies() {
        expectExpansion(
            """
            @ConcurrentObservable
            public final class Engine {
                let limit: Int
                var rpm = 800
                var gear: Gear?
                @ConcurrentDerived public var isFast: Bool { rpm > self.limit }
                @ConcurrentDerived private var label: String {
                    if let gear { return "\\(gear.number)" }
                    let rpm = rpm / 2
                    return isFast ? Self.fast : [1].map { rpm in "\\(rpm)" }[0] + "\\(rpm)"
                }
            }
            """,
            """
            public final class Engine {
                let limit: Int
                var rpm {
                    get {
                        _rpm.value
                    }
                    set {
                        _rpm.value = newValue
                    }
                }

                private let _rpm = ConcurrentObserve.Observed<Int>(800)
                var gear: Gear? {
                    get {
                        _gear.value
                    }
                    set {
                        _gear.value = newValue
                    }
                }

                private let _gear = ConcurrentObserve.Observed<Gear?>(nil)
                public var isFast: Bool { rpm > self.limit }
                private var label: String {
                    if let gear { return "\\(gear.number)" }
                    let rpm = rpm / 2
                    return isFast ? Self.fast : [1].map { rpm in "\\(rpm)" }[0] + "\\(rpm)"
                }

                /// The constants, found as dynamic members.
                public nonisolated struct _Constants: Sendable {
                    fileprivate let _object: Engine
                    var limit: Int {
                        _read {
                            yield _object.limit
                        }
                    }
                }

                /// The derived variables: each is made when it is first needed, of what its body reads.
                private nonisolated struct _DerivedProperties: ~Copyable, Sendable {
                    let _isFast = ConcurrentObserve._DerivedStorage<Bool>()
                    func isFast(of _derivedObject: Engine) -> ConcurrentObserve.Derived<Bool> {
                        _isFast.derived {
                            let _limit = ConcurrentObserve._FollowedProperty(ConcurrentObserve._Constant(_derivedObject.`limit`))
                            let _rpm = ConcurrentObserve._FollowedProperty(_derivedObject._rpm)
                            return ConcurrentObserve.Derived { [_limit, _rpm] (_derivedReader: borrowing ConcurrentObserve.Reader) -> Bool in
                                #sourceLocation(file: "test.swift", line: 6)
                                _derivedReader.follow(_rpm) > _derivedReader.follow(_limit)
                                #sourceLocation()
                            }
                        }
                    }
                    let _label = ConcurrentObserve._DerivedStorage<String>()
                    func label(of _derivedObject: Engine) -> ConcurrentObserve.Derived<String> {
                        _label.derived {
                            let _gear = ConcurrentObserve._FollowedProperty(_derivedObject._gear)
                            let _isFast = ConcurrentObserve._FollowedProperty(_derivedObject._derivedProperties.`isFast`(of: _derivedObject))
                            let _rpm = ConcurrentObserve._FollowedProperty(_derivedObject._rpm)
                            return ConcurrentObserve.Derived { [_gear, _isFast, _rpm] (_derivedReader: borrowing ConcurrentObserve.Reader) -> String in
                                #sourceLocation(file: "test.swift", line: 8)
                                if let gear = _derivedReader.follow(_gear) {
                                    return "\\(gear.number)"
                                }
                                        let rpm = _derivedReader.follow(_rpm) / 2
                                        return _derivedReader.follow(_isFast) ? Engine.fast : [1].map { rpm in
                                    "\\(rpm)"
                                } [0] + "\\(rpm)"
                                #sourceLocation()
                            }
                        }
                    }
                }

                private let _derivedProperties = _DerivedProperties()

                /// The observed properties, as key paths find them.
                @dynamicMemberLookup
                public nonisolated struct Properties: Sendable {
                    fileprivate let _object: Engine
                    var rpm: ConcurrentObserve.Observed<Int> {
                        _object._rpm
                    }
                    var gear: ConcurrentObserve.Observed<Gear?> {
                        _object._gear
                    }
                    public var isFast: ConcurrentObserve.Derived<Bool> {
                        _object._derivedProperties.isFast(of: _object)
                    }
                    fileprivate var label: ConcurrentObserve.Derived<String> {
                        _object._derivedProperties.label(of: _object)
                    }
                    public subscript <ConstantValue: Sendable>(dynamicMember member: any KeyPath<_Constants, ConstantValue> & Sendable) -> ConcurrentObserve._Constant<ConstantValue> {
                        ConcurrentObserve._Constant(_Constants(_object: _object) [keyPath: member])
                    }
                }

                /// The observed properties: to observe, modify, bind.
                public var observedProperties: Properties {
                    Properties(_object: self)
                }

                /// Ends every observation of this object, as if each was cancelled.
                public func cancelAllObservations() {
                    _rpm.cancelAllObservations()
                    _gear.cancelAllObservations()
                    _derivedProperties._isFast.cancelAllObservations()
                    _derivedProperties._label.cancelAllObservations()
                }
            }

            nonisolated extension Engine: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, Sendable {
            }
            """
        )
    }

    @Test(
        "A marked variable that is not a plain computed one",
        arguments: [
            "var a = 1", "var a: Int { get { 1 } set {} }", "var a: Int { get throws { 1 } }",
            "static var a: Int { 1 }", "let a = 1",
        ]
    )
    func forms(variable: String) {
        expectProblems(
            "@ConcurrentObservable\nfinal class Car {\n    @ConcurrentDerived \(variable)\n}",
            [
                "'@ConcurrentDerived' marks a computed variable of the object that has nothing but a getter, which neither throws nor waits: 'var isHealthy: Bool { … }'"
            ]
        )
    }

    @Test(
        "A body whose reads would not be followed, and one that needs itself",
        arguments: [
            (
                "{ check() }",
                "it uses 'check', whose reads are not followed; make it static, with what it reads as parameters"
            ),
            (
                "{ self.check() }",
                "it uses 'check', whose reads are not followed; make it static, with what it reads as parameters"
            ),
            ("{ plain > 1 }", "it uses 'plain', whose reads are not followed; mark it '@ConcurrentDerived'"),
            (
                "{ use(self) }",
                "it uses 'self', other than for a variable's name: what is read of it elsewhere is not followed"
            ),
            (
                "{ cars.map(unfollowed).isEmpty }",
                "it uses 'unfollowed' as a function value; call it with the model: '{ unfollowed($0) }'"
            ),
        ]
    )
    func bodies(body: String, problem: String) {
        expectProblems(
            """
            @ConcurrentObservable
            final class Car {
                var plain: Int { 1 }
                @ConcurrentDerived var a: Bool \(body)
                func check() -> Bool { true }
            }
            """,
            ["'a' cannot be derived: \(problem)"]
        )
    }

    @Test("Variables that need each other")
    func cycles() {
        expectProblems(
            """
            @ConcurrentObservable
            final class Car {
                var rpm = 1
                @ConcurrentDerived var a: Int { b + rpm }
                @ConcurrentDerived var b: Int { c }
                @ConcurrentDerived var c: Int { rpm > 0 ? a : 0 }
            }
            """,
            ["'a' needs itself: a → b → c → a", "'b' needs itself: b → c → a → b", "'c' needs itself: c → a → b → c"]
        )
    }

    @Test(
        "Attributes that may change what the variable means, and types that are none",
        arguments: [
            (
                "@Doubler @ConcurrentDerived var a: Int { 1 }",
                "'@Doubler' cannot be combined with '@ConcurrentDerived': the derived value is made of the body alone, which it may change"
            ),
            (
                "#if DEBUG\n@ConcurrentDerived @MainActor\n#endif\n@ConcurrentDerived var a: Int { 1 }",
                "'@MainActor' cannot be combined with '@ConcurrentDerived': the derived value is made of the body alone, which it may change"
            ),
            (
                "@ConcurrentDerived var a: Int! { 1 }",
                "a derived value needs the type of its results: 'Int!' names none"
            ),
            (
                "@ConcurrentDerived var a: some Equatable { 1 }",
                "a derived value needs the type of its results: 'some Equatable' names none"
            ),
            ("@ConcurrentDerived var a: Any { 1 }", "'a' cannot be observed: 'Any' is not Sendable"),
            (
                "@ConcurrentDerived func a() -> Int { 1 }",
                "'@ConcurrentDerived' marks a computed variable in the body of a class that is '@ConcurrentObservable'"
            ),
        ]
    )
    func attributes(member: String, problem: String) {
        expectProblems("@ConcurrentObservable\nfinal class Car {\n    \(member)\n}", [problem])
    }

    @Test("Attributes that say who may use a variable, and how it is compiled")
    func harmlessAttributes() {
        expectProblems(
            "@ConcurrentObservable\nfinal class Car {\n    @available(*, deprecated) @inlinable @ConcurrentDerived var a: Int { 1 }\n}",
            []
        )
    }

    @Test("The mark outside a model")
    func elsewhere() {
        expectProblems(
            "final class Car {\n    @ConcurrentDerived var a: Int { 1 }\n}",
            ["'@ConcurrentDerived' marks a computed variable in the body of a class that is '@ConcurrentObservable'"]
        )
    }
}
#endif
