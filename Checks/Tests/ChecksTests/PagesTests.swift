// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import checks

@Suite("Pages: links, quotations and examples")
struct PagesTests {
    @Test("Links that lead nowhere are found")
    func links() {
        let pages = Checkout([
            "Docs/Page.md": """
            # A page, `really`
            ```
            # No heading
            ```
            [one](#a-page-really) [two](nowhere.md) [three](#nothing) [four](#no-heading) [five](https://example.com/x)
            [six](../README.md#top) [seven](..) [eight](../README.md#bottom) ![nine](plot) [ten](../../outside.md)
            """,
            "Docs/Resources/plot.svg": "", "README.md": "# Top\n",
        ])
        #expect(
            Links(pages).broken("Docs/Page.md") == [
                "Docs/Page.md: no file nowhere.md", "Docs/Page.md: no heading #nothing",
                "Docs/Page.md: no heading #no-heading",
                "Docs/Page.md: no heading ../README.md#bottom", "Docs/Page.md: no file ../../outside.md",
            ]
        )
    }

    @Test("A suite that the contract does not link to is found")
    func suites() {
        let suite = "Tests/ConcurrentObserveTests/Registry/P01OrderTests.swift"
        let checkout = Checkout([
            suite: "", "Tests/ConcurrentObserveTests/Registry/OtherTests.swift": "", Links.contract: "# Contract\n",
        ])
        #expect(Links(checkout).unnamed() == ["\(Links.contract): does not link to \(suite)"])
        #expect(message { _ = try Links(checkout).check() }?.contains("does not link") == true)
        #expect(Links(checkout.with(Links.contract, "[a](../../../\(suite))")).unnamed() == [])
    }

    @Test(
        "Quotations agree but for indentation and what is left out",
        arguments: [
            ("<!-- from A.swift -->\n```swift\nfunc f() {\n  // …\n}\n```", nil),
            ("<!-- from A.swift -->\n```swift\nlet b = 1\nlet a = 1\n```", "this is not in A.swift"),
            ("<!-- from A.swift -->\n```swift\nlet a\n```", "this is not in A.swift"),
            ("<!-- from A.swift -->\n```swift\nlet a = 1\n```\n```swift\nlet a = 1\n```", "quoted from nowhere"),
            ("<!-- from B.swift -->\n```swift\nlet a = 1\n```", "quoted from B.swift, which is no file"),
            ("# Nothing", "quotes nothing"),
        ] as [(String, String?)]
    )
    func quotations(article: String, found: String?) {
        let right = "<!-- from A.swift -->\n```swift\nlet a = 1\n```"
        // In each of the articles, the others being right.
        for place in Quotations.articles {
            let checkout = Checkout(
                Dictionary(uniqueKeysWithValues: Quotations.articles.map { ($0, $0 == place ? article : right) })
                    .merging(["A.swift": "func f() {\n    let a = 1\n\n    let b = 1\n}\n"]) { one, _ in one }
            )
            let said = message { _ = try Quotations.check(checkout) }
            #expect(found == nil ? said == nil : said?.contains(found!) == true)
        }
    }

    @Test("An example is marked, and has its output behind it")
    func examples() {
        let page = """
            ```swift
            unmarked
            ```
            <!-- example -->
            ```swift
            print(1)
            ```
            It prints:
            ```text
            1
            ```
            ```text
            2
            ```
            <!-- example -->
            ```swift
            print(3)
            ```
            """
        let found = Page(page).examples("example")
        #expect(found.map(\.code) == ["print(1)\n", "print(3)\n"])
        #expect(found.map(\.output) == ["1\n", nil])
    }

    @Test("A program that fails, or prints something else, is found")
    func programs() {
        #expect(message { try judge("P", code: 0, output: "1\n2\n", expected: "1\n2\n") } == nil)
        #expect(
            message { try judge("P", code: 0, output: "1\n3\n", expected: "1\n2\n") }?.contains(
                "- line 2: 2\n+ line 2: 3"
            ) == true
        )
        #expect(
            message { try judge("P", code: 0, output: "1", expected: "1\n") }?.contains("prints something else") == true
        )
        #expect(
            message { try judge("P", code: 132, output: "1\n", expected: "1\n") }?.contains("exits with 132") == true
        )
    }

    @Test("A warning in an example is an error; one in a dependency is not")
    func warnings() {
        let log = "/a/Examples/Cars/Sources/main.swift:1:1: warning: x\n"
        #expect(
            message { try ExamplePackages.refuseWarnings(in: log, of: "/a/Examples/Cars/") }?.contains("warning: x")
                == true
        )
        #expect(message { try ExamplePackages.refuseWarnings(in: log, of: "/a/Examples/Streams/") } == nil)
    }

    @Test("A program that does not end is stopped; a crash has the code of its signal")
    func commands() throws {
        #expect(try Command("sleep", ["60"], atMost: 1).run().code == 137)
        #expect(try Command("bash", ["-c", "echo said; kill -SEGV $$"]).run() == (139, "said\n"))
        #expect(message { try Command("bash", ["-c", "echo said; exit 3"]).succeed("it fails") } == "said\n\nit fails")
    }

    @Test("The macro's lines take the place of README's; what does not fit is found")
    func embedding() throws {
        let manifest = "<!-- manifest -->\n```swift\nlet x = 1\n.package(a, branch: \"main\"),\n  .product(b)\n```\n"
        func pages(_ lines: String) -> EmbeddingPages {
            EmbeddingPages(
                blocks: Page("\(manifest)<!-- manifest, these lines instead -->\n```swift\n\(lines)\n```\n").blocks
            )
        }
        #expect(
            try pages(".product(c)").manifestWithMacro == "let x = 1\n.package(a, branch: \"main\"),\n.product(c)\n"
        )
        #expect(
            try pages(".product(c)").pinned(pages(".product(c)").manifest, to: "abc").contains("a, revision: \"abc\")")
        )
        #expect(message { _ = try pages(".target(c)").manifestWithMacro }?.contains("do not fit") == true)
        #expect(message { _ = try EmbeddingPages(blocks: []).manifest }?.contains("no block of swift") == true)
        #expect(
            message { _ = try EmbeddingPages(blocks: []).pinned("from: \"1.2.3\"", to: "abc") }?
                .contains("does not ask for branch") == true
        )
    }
}
