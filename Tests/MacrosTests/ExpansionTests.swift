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
                        _dynamicProperties.driver.value
                    }
                    set {
                        _dynamicProperties.driver.value = newValue
                    }
                }

                /// The observed properties that are found as dynamic members.
                nonisolated struct _DynamicProperties: Sendable {
                    #sourceLocation(file: "test.swift", line: 6)
                    let driver = ConcurrentObserve.WeakObserved<Driver>(nil)
                    #sourceLocation()
                }

                private let _dynamicProperties = _DynamicProperties()

                /// The observed properties, as key paths find them.
                @dynamicMemberLookup
                nonisolated struct Properties: Sendable {
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
                    subscript <ObservedValue: ConcurrentObserve.WeaklyObservable>(dynamicMember member: any KeyPath<_DynamicProperties, ConcurrentObserve.WeakObserved<ObservedValue>> & Sendable) -> ConcurrentObserve.WeakObserved<ObservedValue> {
                        _object._dynamicProperties[keyPath: member]
                    }
                }

                /// The observed properties: to observe, modify, bind.
                var observedProperties: Properties {
                    Properties(_object: self)
                }

                /// Ends every observation of this object, as if each was cancelled.
                func cancelAllObservations() {
                    _name.cancelAllObservations()
                    _mileage.cancelAllObservations()
                    _spare.cancelAllObservations()
                    _dynamicProperties.driver.cancelAllObservations()
                }
            }

            nonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, Sendable {
            }
            """
        )
    }

    @Test(
        "Access: of the class for what is added, of the getter for each property; what others cannot set is read-only"
    )
    func access() {
        expectExpansion(
            """
            @ConcurrentObservable
            public final class Car {
                public var a = 1
                public private(set) var b = 1
                private var c = 1
                var d = 1
                public internal(set) var e: Int?
                fileprivate(set) var f: Int
                internal(set) var g = 1
                package private(set) var h = State.idle
                public private(set) weak var i: Engine?
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
                public internal(set) var e: Int? {
                    get {
                        _e.value
                    }
                    set {
                        _e.value = newValue
                    }
                }

                let _e = ConcurrentObserve.Observed<Int?>(nil)
                fileprivate(set) var f: Int {
                    @storageRestrictions(initializes: _f)
                    init(initialValue) {
                        _f = ConcurrentObserve.Observed<Int>(initialValue)
                    }
                    get {
                        _f.value
                    }
                    set {
                        _f.value = newValue
                    }
                }

                fileprivate let _f: ConcurrentObserve.Observed<Int>
                internal(set) var g {
                    get {
                        _g.value
                    }
                    set {
                        _g.value = newValue
                    }
                }

                private let _g = ConcurrentObserve.Observed<Int>(1)
                package private(set) var h {
                    get {
                        _readOnlyDynamicProperties.h.value
                    }
                    set {
                        _readOnlyDynamicProperties.h.value = newValue
                    }
                }
                public private(set) weak var i: Engine? {
                    get {
                        _dynamicProperties.i.value
                    }
                    set {
                        _dynamicProperties.i.value = newValue
                    }
                }

                /// The observed properties that are found as dynamic members.
                public nonisolated struct _DynamicProperties: Sendable {
                    #sourceLocation(file: "test.swift", line: 11)
                    fileprivate let i = ConcurrentObserve.WeakObserved<Engine>(nil)
                    #sourceLocation()
                }

                private let _dynamicProperties = _DynamicProperties()

                /// The observed properties that are found as dynamic members, and shown read-only.
                public nonisolated struct _ReadOnlyDynamicProperties: Sendable {
                    #sourceLocation(file: "test.swift", line: 10)
                    package let h = ConcurrentObserve.Observed(State.idle)
                    #sourceLocation()
                }

                private let _readOnlyDynamicProperties = _ReadOnlyDynamicProperties()

                /// The observed properties, as key paths find them.
                @dynamicMemberLookup
                public nonisolated struct Properties: Sendable {
                    fileprivate let _object: Car
                    public var a: ConcurrentObserve.Observed<Int> {
                        _object._a
                    }
                    public var b: ConcurrentObserve.ReadOnly<Int> {
                        _object._b.readOnly
                    }
                    fileprivate var c: ConcurrentObserve.Observed<Int> {
                        _object._c
                    }
                    var d: ConcurrentObserve.Observed<Int> {
                        _object._d
                    }
                    public var e: ConcurrentObserve.ReadOnly<Int?> {
                        _object._e.readOnly
                    }
                    var f: ConcurrentObserve.ReadOnly<Int> {
                        _object._f.readOnly
                    }
                    var g: ConcurrentObserve.Observed<Int> {
                        _object._g
                    }
                    public subscript <ObservedValue: ConcurrentObserve.WeaklyObservable>(dynamicMember member: any KeyPath<_DynamicProperties, ConcurrentObserve.WeakObserved<ObservedValue>> & Sendable) -> ConcurrentObserve.WeakObserved<ObservedValue> {
                        _object._dynamicProperties[keyPath: member]
                    }
                    public subscript <ObservedValue: Sendable>(dynamicMember member: any KeyPath<_ReadOnlyDynamicProperties, ConcurrentObserve.Observed<ObservedValue>> & Sendable) -> ConcurrentObserve.ReadOnly<ObservedValue> {
                        _object._readOnlyDynamicProperties[keyPath: member].readOnly
                    }
                }

                /// The observed properties: to observe, modify, bind.
                public var observedProperties: Properties {
                    Properties(_object: self)
                }

                /// Ends every observation of this object, as if each was cancelled.
                public func cancelAllObservations() {
                    _a.cancelAllObservations()
                    _b.cancelAllObservations()
                    _c.cancelAllObservations()
                    _d.cancelAllObservations()
                    _e.cancelAllObservations()
                    _f.cancelAllObservations()
                    _g.cancelAllObservations()
                    _readOnlyDynamicProperties.h.cancelAllObservations()
                    _dynamicProperties.i.cancelAllObservations()
                }
            }

            nonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, Sendable {
            }
            """
        )
    }

    @Test("Constants, computed variables, static and ignored ones stay")
    func plain() {
        expectExpansion(
            """
            @ConcurrentObservable
            final class Car {
                let plate: String
                static let wheels = 4
                var text: String { plate }
                @ConcurrentObservationIgnored nonisolated(unsafe) var cache = 1
                nonisolated(unsafe) static var count = 0
                @TaskLocal static var current: Int?
                static var title = "" { didSet {} }
            }
            """,
            """
            final class Car {
                let plate: String
                static let wheels = 4
                var text: String { plate }
                nonisolated(unsafe) var cache = 1
                nonisolated(unsafe) static var count = 0
                @TaskLocal static var current: Int?
                static var title = "" { didSet {} }

                /// The constants, found as dynamic members.
                nonisolated struct _Constants: Sendable {
                    fileprivate let _object: Car
                    var plate: String {
                        _read {
                            yield _object.plate
                        }
                    }
                }

                /// The observed properties, as key paths find them.
                @dynamicMemberLookup
                nonisolated struct Properties: Sendable {
                    fileprivate let _object: Car
                    subscript <ConstantValue: Sendable>(dynamicMember member: any KeyPath<_Constants, ConstantValue> & Sendable) -> ConcurrentObserve._Constant<ConstantValue> {
                        ConcurrentObserve._Constant(_Constants(_object: _object) [keyPath: member])
                    }
                }

                /// The observed properties: to observe, modify, bind.
                var observedProperties: Properties {
                    Properties(_object: self)
                }

                /// Ends every observation of this object, as if each was cancelled.
                func cancelAllObservations() {

                }
            }

            nonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, Sendable {
            }
            """
        )
    }

    @Test(
        "The type is found from the text of the value",
        arguments: [
            ("1", "Int"), ("-1", "Int"), ("1.5", "Double"), ("true", "Bool"), ("\"a\"", "String"),
            ("[Int]()", "[Int]"), ("[String: Int]()", "[String: Int]"),
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

    @Test("Types that the compiler infers, and one that is the class's alone")
    func inferred() {
        expectExpansion(
            """
            @ConcurrentObservable
            public final class Car {
                private enum Mode {
                    case slow
                }
                public var state = State.idle
                private var mode = Mode.slow
                var text = if isBig { "a" } else { "b" }
            }
            """,
            """
            public final class Car {
                private enum Mode {
                    case slow
                }
                public var state {
                    get {
                        _dynamicProperties.state.value
                    }
                    set {
                        _dynamicProperties.state.value = newValue
                    }
                }
                private var mode {
                    get {
                        _mode.value
                    }
                    set {
                        _mode.value = newValue
                    }
                }

                private let _mode = ConcurrentObserve.Observed(Mode.slow)
                var text {
                    get {
                        _dynamicProperties.text.value
                    }
                    set {
                        _dynamicProperties.text.value = newValue
                    }
                }

                /// The observed properties that are found as dynamic members.
                public nonisolated struct _DynamicProperties: Sendable {
                    #sourceLocation(file: "test.swift", line: 6)
                    public let state = ConcurrentObserve.Observed(State.idle)
                    #sourceLocation()
                    #sourceLocation(file: "test.swift", line: 8)
                    let text = ConcurrentObserve.Observed({
                            if isBig {
                                "a"
                            } else {
                                "b"
                            }
                        }())
                    #sourceLocation()
                }

                private let _dynamicProperties = _DynamicProperties()

                /// The observed properties, as key paths find them.
                @dynamicMemberLookup
                public nonisolated struct Properties: Sendable {
                    fileprivate let _object: Car
                    public subscript <ObservedValue: Sendable>(dynamicMember member: any KeyPath<_DynamicProperties, ConcurrentObserve.Observed<ObservedValue>> & Sendable) -> ConcurrentObserve.Observed<ObservedValue> {
                        _object._dynamicProperties[keyPath: member]
                    }
                }

                /// The observed properties: to observe, modify, bind.
                public var observedProperties: Properties {
                    Properties(_object: self)
                }

                /// Ends every observation of this object, as if each was cancelled.
                public func cancelAllObservations() {
                    _dynamicProperties.state.cancelAllObservations()
                    _mode.cancelAllObservations()
                    _dynamicProperties.text.cancelAllObservations()
                }
            }

            nonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, Sendable {
            }
            """
        )
    }
}
#endif
