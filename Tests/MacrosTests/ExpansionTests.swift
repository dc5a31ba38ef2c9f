// SPDX-License-Identifier: Apache-2.0

#if Macros
import Testing

@Suite("@ConcurrentObservable expands")
struct ExpansionTests {
    @Test("Variables with and without initial values, weak and optional ones")
    func variables() {
        expectExpansion(
            """
            @ConcurrentObservable
            final class Car {
                var name = "Beetle"
                var mileage: Int
                var spare: Engine?
                weak var driver: Driver?
            }
            """,
            """
            final class Car {
                var name {
                    get {
                        _name.value
                    }
                    set {
                        _name.value = newValue
                    }
                }

                private let _name = ConcurrentObserve.Observed<String>("Beetle")
                var mileage: Int {
                    @storageRestrictions(initializes: _mileage)
                    init(initialValue) {
                        _mileage = ConcurrentObserve.Observed<Int>(initialValue)
                    }
                    get {
                        _mileage.value
                    }
                    set {
                        _mileage.value = newValue
                    }
                }

                private let _mileage: ConcurrentObserve.Observed<Int>
                var spare: Engine? {
                    get {
                        _spare.value
                    }
                    set {
                        _spare.value = newValue
                    }
                }

                private let _spare = ConcurrentObserve.Observed<Engine?>(nil)
                weak var driver: Driver? {
                    get {
                        _driver.value
                    }
                    set {
                        _driver.value = newValue
                    }
                }

                private let _driver = ConcurrentObserve.WeakObserved<Driver>(nil)

                /// The observed properties, as key paths find them.
                struct Properties: Sendable {
                    fileprivate let _object: Car
                    var name: ConcurrentObserve.Observed<String> {
                        _object._name
                    }
                    var mileage: ConcurrentObserve.Observed<Int> {
                        _object._mileage
                    }
                    var spare: ConcurrentObserve.Observed<Engine?> {
                        _object._spare
                    }
                    var driver: ConcurrentObserve.WeakObserved<Driver> {
                        _object._driver
                    }
                }

                /// The observed properties: to observe, modify, bind.
                var observedProperties: Properties {
                    Properties(_object: self)
                }
            }

            extension Car: ConcurrentObserve.ConcurrentObservable {
            }
            """
        )
    }

    @Test("Access: of the class for what is added, of the setter for each property")
    func access() {
        expectExpansion(
            """
            @ConcurrentObservable
            public final class Car {
                public var a = 1
                public private(set) var b = 1
                private var c = 1
                var d = 1
            }
            """,
            """
            public final class Car {
                public var a {
                    get {
                        _a.value
                    }
                    set {
                        _a.value = newValue
                    }
                }

                private let _a = ConcurrentObserve.Observed<Int>(1)
                public private(set) var b {
                    get {
                        _b.value
                    }
                    set {
                        _b.value = newValue
                    }
                }

                private let _b = ConcurrentObserve.Observed<Int>(1)
                private var c {
                    get {
                        _c.value
                    }
                    set {
                        _c.value = newValue
                    }
                }

                private let _c = ConcurrentObserve.Observed<Int>(1)
                var d {
                    get {
                        _d.value
                    }
                    set {
                        _d.value = newValue
                    }
                }

                private let _d = ConcurrentObserve.Observed<Int>(1)

                /// The observed properties, as key paths find them.
                public struct Properties: Sendable {
                    fileprivate let _object: Car
                    public var a: ConcurrentObserve.Observed<Int> {
                        _object._a
                    }
                    fileprivate var b: ConcurrentObserve.Observed<Int> {
                        _object._b
                    }
                    fileprivate var c: ConcurrentObserve.Observed<Int> {
                        _object._c
                    }
                    var d: ConcurrentObserve.Observed<Int> {
                        _object._d
                    }
                }

                /// The observed properties: to observe, modify, bind.
                public var observedProperties: Properties {
                    Properties(_object: self)
                }
            }

            extension Car: ConcurrentObserve.ConcurrentObservable {
            }
            """
        )
    }

    @Test("Constants, computed variables and ignored ones stay")
    func plain() {
        expectExpansion(
            """
            @ConcurrentObservable
            final class Car {
                let plate: String
                static let wheels = 4
                var text: String { plate }
                @ConcurrentObservationIgnored nonisolated(unsafe) var cache = 1
            }
            """,
            """
            final class Car {
                let plate: String
                static let wheels = 4
                var text: String { plate }
                nonisolated(unsafe) var cache = 1

                /// The observed properties, as key paths find them.
                struct Properties: Sendable {
                    fileprivate let _object: Car
                }

                /// The observed properties: to observe, modify, bind.
                var observedProperties: Properties {
                    Properties(_object: self)
                }
            }

            extension Car: ConcurrentObserve.ConcurrentObservable {
            }
            """
        )
    }

    @Test(
        "The type is told from the text of the value",
        arguments: [
            ("1", "Int"), ("-1", "Int"), ("1.5", "Double"), ("true", "Bool"), ("\"a\"", "String"),
            ("Engine()", "Engine"), ("Engine.Kind(1)", "Engine.Kind"), ("Engine.init()", "Engine"),
            ("[Int]()", "[Int]"), ("[String: Int]()", "[String: Int]"), ("Set<Int>()", "Set<Int>"),
        ]
    )
    func types(_ value: String, _ type: String) {
        expectExpansion(
            "@ConcurrentObserved var a = \(value)",
            """
            var a {
                get {
                    _a.value
                }
                set {
                    _a.value = newValue
                }
            }

            private let _a = ConcurrentObserve.Observed<\(type)>(\(value))
            """
        )
    }
}
#endif
