// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import checks

@Suite("A user's package over the perturbed library")
struct PerturbedTests {
    @Test(
        "A manifest's dependency becomes the one on the copy, with its name and traits; others stay",
        arguments: [
            (
                ".package(url: \"https://host/ConcurrentObserve.git\", from: \"1.0.0\")",
                "\"ConcurrentObserve\", path: \"/copy\""
            ),
            (
                ".package(url: \"https://host/concurrentobserve\", .upToNextMajor(from: \"1.0.0\"), traits: [\n\"Macros\"])",
                "\"concurrentobserve\", path: \"/copy\", traits: [\n\"Macros\"]"
            ),
            (".package(name: \"C\", path: \"../root\")", "\"C\", path: \"/copy\""),
            (".package(path: \"../root/Sources/..\")", "\"root\", path: \"/copy\""),
            (
                ".package(path: \"/packages/root\", traits: [.trait(name: \"A\"), .defaults])",
                "\"root\", path: \"/copy\", traits: [.trait(name: \"A\"), .defaults]"
            ),
        ]
    )
    func redirected(dependency: String, expected: String) {
        func manifest(_ dependency: String) -> String {
            ".package(path: \"../other\"), \(dependency), .product(name: \"A\", package: \"ConcurrentObserve\")"
        }
        #expect(
            Perturbed.redirect(manifest(dependency), on: "/packages/root", of: "/packages/user", to: "/copy")
                == manifest(".package(name: \(expected))")
        )
    }

    @Test("A package without the dependency is refused, and so is a folder without a manifest")
    func refused() throws {
        let folder = try TemporaryFolder()
        #expect(message { _ = try Perturbed.write([folder.path]) } == "\(folder.path) has no Package.swift")
        try folder.write("Package.swift", ".package(path: \"../other\")")
        #expect(
            message { _ = try Perturbed.write([folder.path]) }
                == "\(folder.path)/Package.swift: no dependency on ConcurrentObserve"
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["Package.swift"])
    }

    @Test("A path that ends in two dots leaves the package's builds as they are")
    func parent() throws {
        let (folder, root) = (try TemporaryFolder(), Checkout.repositoryPath)
        let manifest = ".package(name: \"C\", path: \"\(root)/Sources/..\")"
        try folder.write("Package.swift", manifest)
        try folder.write(".build/debug/a.o", "built")
        let copy = try Perturbed.write([folder.path], root: root)
        #expect(try String(contentsOfFile: folder.path + "/.build/debug/a.o", encoding: .utf8) == "built")
        #expect(FileManager.default.fileExists(atPath: copy + "/../ConcurrentObserve/Package.swift"))
        #expect(throws: Failure.self) { try PackageCopy(of: root, in: folder.path + "/.build/perturbed/..").renew([:]) }
        #expect(throws: Failure.self) { try PackageCopy(of: root, in: folder.path + "/.build/perturbed").renew([:]) }
    }

    @Test("The copy switches itself on, and has no file of the library twice")
    func changes() throws {
        let checkout = try Checkout.repository
        let changes = try Perturbed.changes(checkout)
        let path = "Sources/ConcurrentObserve/Instrumentation/"
        let switched = changes[path + "Instrumentation+Stress.perturbed.swift"] ?? nil
        #expect(switched?.matches(of: /Perturbed\.ofProcess/).count == 3)
        #expect(changes[path + "Perturbed.swift"] != nil && changes[path + "Instrumentation+Stress.swift"] == nil)
        let originals = checkout.swiftFiles(below: Structure.sources)
        #expect(originals.allSatisfy { changes[$0] != nil })
        #expect(originals.contains { changes[$0]! == nil })
        // The room Platform calls the explorer, so it belongs to the same module as that.
        #expect(changes[path + "Platform/Lock.edited.swift"] != nil)
        let left = changes.filter { $0.key.hasPrefix("Sources/ConcurrentObserve/Platform/") && $0.value != nil }
        #expect(left == ["Sources/ConcurrentObserve/Platform/Empty.swift": ""])
    }
}
