// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import checks

@Suite("The figures that pages show")
struct FiguresTests {
    /// The text between the markers of a page.
    private static func marked(_ name: String, of page: String) throws -> String {
        let text = try Checkout.repository.text(page) ?? ""
        return try #require(text.between("<!-- \(name): -->\n", "<!-- :\(name) -->").first)
    }

    @Test(
        "The figures of README and of Performance are those of the table in Measurements",
        arguments: [
            ("readme", "README.md"),
            ("performance", "Sources/ConcurrentObserve/ConcurrentObserve.docc/Performance.md"),
        ]
    )
    func published(_ name: String, _ page: String) throws {
        let folder = try TemporaryFolder()
        let table = "Sources/ConcurrentObserve/ConcurrentObserve.docc/Measurements.md"
        let report = try folder.write("report.md", Self.marked("table", of: table))
        let root = Checkout.repositoryPath
        let arguments = ["-f", "\(root)/Scripts/figures.awk", report, "\(root)/Benchmarks/Figures/\(name).txt"]
        #expect(try Command("awk", arguments).succeed() == Self.marked("figures", of: page))
    }

    @Test("A case that the report lacks ends the script")
    func missing() throws {
        let folder = try TemporaryFolder()
        let report = try folder.write(
            "report.md",
            "Z, 2 processors; 2026-01-02T03:04:05Z.\n\n| `a.b.c` | 2.00 ns | 9.00 ns |\n"
        )
        let rows = try folder.write("rows.txt", "# none\nfirst | a.b.c = other\nsecond | a.b.d\n")
        let (code, output) = try Command("awk", ["-f", "\(Checkout.repositoryPath)/Scripts/figures.awk", report, rows])
            .run()
        #expect(code == 3)
        #expect(output.contains("| first | **2.00\u{a0}ns**; other: 4.5\u{a0}× |\n"))
        #expect(output.contains("the report has no case a.b.d"))
        #expect(output.contains("Z, 2 processors; 2026-01-02.\n\n"))
    }
}
