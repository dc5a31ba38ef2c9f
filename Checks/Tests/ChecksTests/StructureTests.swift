// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import checks

private let licence = "// SPDX-License-Identifier: Apache-2.0\n"
private let library = "Sources/ConcurrentObserve"

@Suite("Structure: each planted violation is found, and nothing else")
struct StructureTests {
    /// A tree without violations, with a name in two rooms.
    private let clean = Checkout([
        "Package.swift": "// swift-tools-version: 6.2\n\(licence)",
        "\(library)/Platform/Lock.swift": licence + "import CURCU\nlet lock = unsafe f()\n",
        "\(library)/Registry/ObservationToken.swift": licence + "public struct ObservationToken {}\n",
    ])

    private func violations(_ checkout: Checkout) -> [String] {
        Structure(checkout, unsafeFiles: ["Platform/Lock.swift"]).violations()
    }

    /// A file, its lines behind the licence, and the violation that it is.
    @Test(
        "A planted file",
        arguments: [
            (
                "\(library)/Gallery/A.swift", "",
                "\(library)/Gallery: a room this check does not know: say in it what the room may use"
            ),
            ("\(library)/Stray.swift", "", "\(library)/Stray.swift: belongs to no room"),
            (
                "\(library)/Registry/P.swift", "internal import CURCU",
                "\(library)/Registry/P.swift:2: imports C: only Platform may"
            ),
            (
                "\(library)/Registry/P.swift", "import CLiburcu",
                "\(library)/Registry/P.swift:2: imports C: only Platform may"
            ),
            (
                "\(library)/Platform/P.swift", "public import CPlatform\npublic func planted() {}",
                "\(library)/Platform/P.swift:3: public: the library's own modules have declarations of the package only"
            ),
            (
                "\(library)/Reclamation/P.swift", "let planted: ObservationToken? = nil",
                "\(library)/Reclamation/P.swift:2: ObservationToken is declared above, in Registry, which Reclamation must not know"
            ),
            (
                "\(library)/Registry/P.swift", "let planted = unsafe f()",
                "\(library)/Registry/P.swift:2: 'unsafe' outside the files that may use it"
            ),
            (
                "Benchmarks/Package.swift", "let planted = [.unsafeFlags([])]",
                "Benchmarks/Package.swift:2: unsafe flags: SwiftPM refuses them in dependencies"
            ),
            (
                "\(library)/Registry/P.swift", "public import struct Foundation.Date",
                "\(library)/Registry/P.swift:2: the library does not import Foundation"
            ),
            (
                "\(library)/Registry/P.swift", "let planted = Mutex(0)",
                "\(library)/Registry/P.swift:2: a Mutex: ThreadSanitizer cannot see into it; use Lock, SourceLock or an atomic"
            ),
            (
                "\(library)/Registry/P.swift", String(repeating: "//\n", count: 400),
                "\(library)/Registry/P.swift: more than 400 lines: give a second topic a file of its own"
            ),
            (
                "\(library)/Registry/P.swift", "func planted() { if mutant(.planted) { return } }",
                "\(library)/Registry/P.swift:2: instrumentation belongs into Instrumented/Edits"
            ),
            (
                "\(library)/Registry/P.swift", "#if INSTRUMENTED\n#endif",
                "\(library)/Registry/P.swift:2: instrumentation belongs into Instrumented/Edits"
            ),
            (
                "\(library)Metrics/P.swift", "let planted = Synchronization.Mutex(0)",
                "\(library)Metrics/P.swift:2: a Mutex: ThreadSanitizer cannot see into it; use Lock, SourceLock or an atomic"
            ),
        ]
    )
    func planted(path: String, code: String, violation: String) {
        #expect(violations(clean) == [])
        #expect(violations(clean.with(path, licence + code + "\n")) == [violation])
    }

    @Test("A function above that is called, and a property's type behind an attribute")
    func names() {
        let called = clean.with("\(library)/Registry/A.swift", licence + "internal func plantedAbove() {}\n")
            .with("\(library)/Reclamation/P.swift", licence + "let planted = plantedAbove()\n")
        #expect(
            violations(called) == [
                "\(library)/Reclamation/P.swift:2: plantedAbove is declared above, in Registry, which Reclamation must not know"
            ]
        )
        let type =
            clean
            .with(
                "\(library)/Property/P.swift",
                licence + "@usableFromInline\n@frozen public final class PlantedProperty {}\n"
            )
            .with("\(library)/Registry/P.swift", licence + "// PlantedProperty\nlet planted = PlantedProperty()\n")
        #expect(
            violations(type) == [
                "\(library)/Registry/P.swift:3: PlantedProperty is declared above, in Property, which Registry must not know"
            ]
        )
    }

    @Test("In this repository a room that uses one above is found, and nothing else is")
    func repository() throws {
        let checkout = try Checkout.repository
        #expect(Structure(checkout).violations() == [])
        let path = "\(library)/Reclamation/Planted.swift"
        #expect(
            Structure(checkout.with(path, licence + "let planted: ObservationToken? = nil\n")).violations() == [
                "\(path):2: ObservationToken is declared above, in Registry, which Reclamation must not know"
            ]
        )
    }

    @Test("A file that may use 'unsafe' exists, and does")
    func allowances() {
        var gone = clean
        gone.remove("\(library)/Platform/Lock.swift")
        #expect(violations(gone) == ["\(library)/Platform/Lock.swift: may use 'unsafe', but does not exist"])
        let idle = clean.with("\(library)/Platform/Lock.swift", licence + "// unsafe\n")
        #expect(violations(idle) == ["\(library)/Platform/Lock.swift: may use 'unsafe', but does not"])
    }

    @Test(
        "A file without its licence",
        arguments: [
            ("\(library)/Registry/P.swift", "let planted = 1\n"), ("Sources/CURCU/Planted.h", "#pragma once\n"),
            ("planted.sh", "#!/bin/sh\ntrue\n"), ("Package.swift", "// swift-tools-version: 6.2\n"), ("a.py", ""),
            ("a.awk", "{}"), ("a.c", ""),
        ]
    )
    func licences(path: String, text: String) {
        #expect(
            violations(clean.with(path, text, tracked: false)) == [
                "\(path):1: does not begin with its licence, SPDX-License-Identifier: Apache-2.0"
            ]
        )
    }

    @Test(
        "A generated file is found if it is tracked",
        arguments: ["Package.resolved", "Benchmarks/.build/x", "Benchmarks/Package.resolved", ".swiftpm/a"]
    )
    func generated(path: String) {
        #expect(violations(clean.with(path, "")) == ["\(path): generated, and tracked"])
        #expect(violations(clean.with(path, "", tracked: false)) == [])
    }

    @Test("Names in comments and strings, members and labels are not found")
    func innocent() {
        let text = """
            // unsafe ObservationToken, Mutex
            /* import CURCU /* nested */
            unsafe */
            let planted = "unsafe ObservationToken \\" unsafe"
            let text = \"""
            unsafe import Foundation
            \"""
            let more = x.ObservationToken

            """
        #expect(violations(clean.with("\(library)/Reclamation/P.swift", licence + text)) == [])
        #expect(
            violations(clean.with("\(library)/Reclamation/P.swift", licence + "/* */ let planted = ObservationToken()"))
                .count == 1
        )
    }
}
