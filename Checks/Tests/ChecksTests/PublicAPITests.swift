// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import checks

@Suite("The public API and its documentation, as the compiler writes them")
struct PublicAPITests {
    /// A module's symbols. The compiler has read the code.
    private static func graph(_ code: String, in folder: TemporaryFolder) throws -> SymbolGraph {
        let file = try folder.write("Planted.swift", code)
        try folder.write("symbols/.keep", "")
        let arguments = [
            "-emit-module", "-module-name", "Planted", "-emit-symbol-graph", "-emit-symbol-graph-dir", "symbols",
        ]
        try Command("swiftc", arguments + ["-symbol-graph-minimum-access-level", "public", file], in: folder.path)
            .succeed("no graph")
        return try SymbolGraph(file: "\(folder.path)/symbols/Planted.symbols.json")
    }

    @Test("Changes that break programs are found: a declaration that is gone or reads otherwise, a new case")
    func breaks() throws {
        let before = try Self.graph(
            """
            public struct A: Equatable { public func gone() {}; public func changed(_ a: Int) -> Int { a } }
            public struct Box<T> {}; extension Box where T: Equatable { public func f() {} }
            public enum E { case one }
            public protocol P { func f() }
            """,
            in: TemporaryFolder()
        )
        let now = try Self.graph(
            """
            public struct A { public func changed(_ a: Int) -> Int? { a }; public func new() {} }
            public struct Box<T> {}; extension Box where T: Hashable { public func f() {} }
            public enum E { case one, planted }
            public protocol P { func f(); func g(); func h() }
            extension P { public func h() {} }
            """,
            in: TemporaryFolder()
        )
        let breaks = PublicAPI.breaks(from: before.declarations, to: now.declarations, accepted: [])
        let expected = [
            "gone or changed: Planted conformance A | : Swift.Equatable",
            "gone or changed: Planted method A.changed(_:) | func changed(_ a: Int) -> Int",
            "gone or changed: Planted method A.gone() | func gone()",
            "gone or changed: Planted method Box.f() | func f() [where T : Equatable]",
            "new: Planted enum.case E.planted | case planted",
            "new: Planted requirement P.g() | func g()",
        ]
        #expect(breaks == expected)
        let accepted = Set(expected.dropFirst() + ["gone or changed: what is still there"])
        #expect(
            PublicAPI.breaks(from: before.declarations, to: now.declarations, accepted: accepted) == [
                expected[0], "accepted, but not so: gone or changed: what is still there",
            ]
        )
    }

    @Test("The types that a reader finds are counted: nested ones, and none whose name begins with an underscore")
    func visibleTypes() throws {
        let graph = try Self.graph(
            """
            public struct A { public enum Nested {}; public struct _Hidden {} }
            public protocol P { associatedtype Value }
            public typealias Name = Int
            public struct _Macro { public struct Inner {} }
            @_documentation(visibility: internal) public actor Unlisted {}
            """,
            in: TemporaryFolder()
        )
        #expect(PublicAPI.visibleTypes(graph.declarations, module: "Planted") == ["A", "A.Nested", "Name", "P"])
    }

    @Test("The record has this repository's API: what is taken away from it is found")
    func record() throws {
        let before = PublicAPI.entries(try Checkout.repository.text(PublicAPI.record))
        let method = try #require(before.first { $0.hasPrefix("ConcurrentObserve method ObservationToken.cancel() ") })
        #expect(
            PublicAPI.breaks(from: before, to: before.subtracting([method]), accepted: []) == [
                "gone or changed: \(method)"
            ]
        )
    }

    @Test("A public declaration that is not written down is found, and a written one that is not public")
    func written() {
        #expect(PublicAPI.differences(of: ["a", "b"], from: ["b", "c"]) == ["+ a", "- c"])
        #expect(PublicAPI.differences(of: ["a"], from: ["a"]).isEmpty)
    }

    @Test("The record, CHANGELOG, the manifests and the last tag are of one version")
    func versions() {
        let text = "# The public API of 1.2.3: written.\n"
        let sound = Checkout([
            PublicAPI.record: text, "CHANGELOG.md": "## [1.2.3] - today\n",
            "README.md": ".package(url: \"https://a/b.git\", from: \"1.2.3\"),\n",
        ])
        func found(_ checkout: Checkout, tag: String? = nil, record: String? = nil) -> String? {
            message { _ = try PublicAPI.version(in: checkout, lastTag: tag, recordOfTag: record) }
        }
        #expect(found(sound) == nil)
        #expect(found(sound, tag: "1.2.3", record: text) == nil)
        #expect(found(sound, tag: "1.2.3", record: text + "more")?.contains("is not that of tag") == true)
        #expect(found(sound, tag: "1.2.4", record: text)?.contains("the last tag is 1.2.4") == true)
        #expect(found(sound.with("CHANGELOG.md", ""))?.contains("no heading") == true)
        #expect(found(sound.with(PublicAPI.record, ""))?.contains("which release") == true)
        let old = ".package(url: \"https://a/b.git\", from: \"1.2.2\"),\n"
        #expect(found(sound.with("README.md", old))?.contains("a manifest is not for") == true)
    }

    @Test("A symbol without documentation, and a link to none, are found")
    func documentation() throws {
        let work = try TemporaryFolder()
        let graph = try Self.graph(
            "/// Documented.\npublic struct A {\n    /// So is this.\n    public var a = 1\n    public var planted = 1\n}\n",
            in: work
        )
        #expect(graph.undocumented == ["Planted swift.property A.planted"])
        func built(_ article: String) throws -> String? {
            let catalog = try work.write("Planted.docc/Planted.md", article) as NSString
            return message {
                try Documentation.convert(
                    "Planted",
                    symbols: "\(work.path)/symbols",
                    catalog: catalog.deletingLastPathComponent,
                    to: "\(work.path)/archives"
                )
            }
        }
        #expect(try built("# ``Planted``\n\nA link to ``A/a``.\n") == nil)
        #expect(try built("# ``Planted``\n\nA link to ``A/nowhere``.\n")?.contains("nowhere") == true)
    }
}
