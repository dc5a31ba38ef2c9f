// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Values of every kind")
    struct ObservedValueTests {}
}

extension Promises.ObservedValueTests {
    @Test(
        "Every kind of value is read, replaced, changed in place, lent and delivered whole",
        arguments: bits + text + counted
    )
    func everyKind(kind: ValueKind) {
        #expect(kind.exerciseDirectly().isEmpty)
    }

    @Test("The same where the compiler does not know the type", arguments: bits + text + counted)
    func everyKindGenerically(kind: ValueKind) {
        #expect(kind.exerciseGenerically().isEmpty)
    }

    // MARK: Nothing but bits

    enum Direction: UInt8, Sendable { case left, right, up }
    enum Shape: Sendable { case point, circle(Double), square(UInt64) }
    struct Padded: Sendable { var flag: UInt8, number: UInt64 }
    struct Rectangle: Sendable { var left: Int, top: Int, width: Int, height: Int }

    static let bits = [
        ValueKind("Void", [(), ()]),
        ValueKind("Bool", [true, false]),
        ValueKind("an enum of one byte", [Direction.left, .right, .up]),
        ValueKind("an enum with payloads", [Shape.point, .circle(.infinity), .square(.max)]),
        ValueKind("Int16", [Int16.min, -1, 0, .max]),
        ValueKind("Int", [Int.min, -1, 0, .max]),
        ValueKind("Int?", [Int?.none, 0, .some(.max)]),
        ValueKind("Int??", [Int??.none, .some(.none), .some(.some(7))]),
        ValueKind("Never?", [Never?.none]),
        ValueKind("Double", [0.0, -0.0, .nan, .infinity, .leastNonzeroMagnitude]),
        ValueKind("(Int, Int)", [(1, 2), (.min, .max)]),
        ValueKind("(Int, Bool)?", [(Int, Bool)?.none, (1, true), (-1, false)]),
        ValueKind("a struct with padding", [Padded(flag: 1, number: .max), Padded(flag: 255, number: 0)]),
        ValueKind("(Int, Int, Bool)", [(1, 2, true), (3, 4, false)]),
        ValueKind(
            "four words",
            [Rectangle(left: 1, top: 2, width: 3, height: 4), .init(left: 0, top: 0, width: 0, height: 0)]
        ),
        ValueKind("Duration", [Duration.zero, .seconds(1) + .nanoseconds(1)]),
        ValueKind("UInt128", [UInt128.max, 1]),
        ValueKind("SIMD2<Double>", [SIMD2(1.5, -2), .zero]),
        ValueKind("SIMD4<Double>", [SIMD4(1, 2, 3, 4.5), .zero]),
        ValueKind("SIMD16<Float>", [SIMD16<Float>(repeating: 2.5), .zero]),
        ValueKind("SIMD64<UInt8>?", [SIMD64<UInt8>?.none, SIMD64<UInt8>(repeating: 9)]),
    ]

    // MARK: Text

    /// Makes a text of this number of bytes at run time.
    static func text(_ count: Int, of character: Character = "x") -> String {
        String(repeating: character, count: count)
    }

    static let text = [
        ValueKind("strings up to 15 bytes", ["", "a", text(7), text(8), text(14), text(15)]),
        ValueKind("strings around 15 bytes", [text(15), text(16), text(17)]),
        ValueKind(
            "strings that are not ASCII",
            ["ü", "Ωμέγα", text(7, of: "ü"), text(8, of: "ü"), "👩‍👩‍👧‍👦", text(9, of: "👩‍👩‍👧‍👦")]
        ),
        ValueKind(
            "long literals",
            ["a literal of more than fifteen bytes", "another one, of just as little use", "short"]
        ),
        ValueKind("long strings", [text(1_000), text(100_000, of: "y"), "a literal of more than fifteen bytes"]),
        ValueKind("parts of strings", [String(text(100).dropFirst(50)), String(text(100).prefix(3))]),
        ValueKind("String?", [String?.none, "", "a", text(15), text(16), "a literal of more than fifteen bytes"]),
        ValueKind("String??", [String??.none, .some(.none), .some("a"), .some(text(16))]),
        ValueKind("Character", ["a", "👩‍👩‍👧‍👦"] as [Character]),
        ValueKind("Substring", [text(100).prefix(20), "abc"] as [Substring]),
        ValueKind("a struct of one string", [Name(text: "a"), Name(text: text(40))]),
    ]

    struct Name: Sendable { var text: String }

    // MARK: Counted references

    struct Person: Sendable { var name: String, friends: [String], object: Object? }
    indirect enum Chain: Sendable { case end, link(Int, Chain) }
    protocol Animal: Sendable { var sound: String { get } }
    struct Dog: Animal { var sound: String { "wuff" } }
    struct Choir: Animal { var (one, two, three, four) = ("a", "b", text(20), "d"), sound = text(30) }

    static let object: [Object] = [Object(number: 1), Object(number: 2)]
    static let person = Person(name: text(20), friends: [text(30), "b"], object: object[0])

    static let counted = [
        ValueKind("objects", object) { "\(ObjectIdentifier($0)) \($0.isWhole)" },
        ValueKind("objects or nil", [nil, object[0], object[1]]) { $0.map { "\($0.number) \($0.isWhole)" } ?? "nil" },
        ValueKind("arrays", [[], [1], Array(0..<100)]),
        ValueKind("arrays of strings", [[], [text(20)], ["a", text(30)]]),
        ValueKind("an array or nil", [[Int]?.none, [], [1, 2]]),
        ValueKind("dictionaries", [[:], [1: text(20)]]),
        ValueKind("structs with references", [person, Person(name: "a", friends: [], object: nil)]) {
            "\($0.name) \($0.friends) \($0.object?.number ?? -1)"
        },
        ValueKind("(String, [Int])", [(text(20), [1]), ("a", [])]),
        ValueKind("indirect enums", [Chain.end, .link(1, .link(2, .end))]),
        ValueKind("existentials", [Dog(), Choir()] as [any Animal]) { $0.sound },
        ValueKind("anything", [1, text(20), object[0], person] as [any Sendable]) { "\(type(of: $0))" },
        ValueKind("closures", [{ "constant" }, { [person] in person.name }] as [@Sendable () -> String]) { $0() },
        ValueKind("results", [.success(1), .failure(WaitedInVain(for: "a failure"))] as [Result<Int, any Error>]),
    ]
}
