// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Checks that the targets of links in Markdown files exist: files of the repository, and headings
/// in them. The article Contract links to every suite that is named for a promise.
struct Links {
    static let contract = "Sources/ConcurrentObserve/ConcurrentObserve.docc/Contract.md"

    let checkout: Checkout

    init(_ checkout: Checkout) { self.checkout = checkout }

    func check() throws -> String {
        let found = pages.flatMap(broken) + unnamed()
        if !found.isEmpty { throw Failure(found + ["\(found.count) above"]) }
        return "\(pages.count) pages, \(suites.count) suites"
    }

    private var pages: [String] { checkout.tracked.filter { $0.hasSuffix(".md") }.sorted() }

    private var suites: [String] {
        checkout.tracked.filter {
            $0.hasPrefix("Tests/ConcurrentObserveTests/")
                && $0.firstMatch(of: /\/P[0-9][0-9][^\/]*Tests\.swift$/) != nil
        }.sorted()
    }

    /// Returns the links of a page that have no target.
    func broken(_ page: String) -> [String] {
        guard let text = checkout.text(page) else { return ["\(page): is no file"] }
        return text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }.compactMap { target in
            // A target on another site, or in the documentation of another module, which DocC
            // builds.
            if target.prefixMatch(of: /[a-z]+:|\/documentation\//) != nil { return nil }
            let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let path = parts[0].isEmpty ? page : resolve(parts[0], from: page) else {
                return "\(page): no file \(target)"
            }
            if parts.count > 1, !parts[1].isEmpty, !headings(of: path).contains(parts[1]) {
                return "\(page): no heading \(target)"
            }
            return nil
        }
    }

    /// Returns the path to which a link leads; nil if there is none.
    private func resolve(_ link: String, from page: String) -> String? {
        var path = page.split(separator: "/").dropLast().map(String.init)
        let folder = path.joined(separator: "/")
        for step in link.split(separator: "/") {
            switch step {
            case ".": break
            case ".." where path.isEmpty: return nil
            case "..": path.removeLast()
            default: path.append(String(step))
            }
        }
        let file = path.joined(separator: "/")
        if file.isEmpty || checkout.paths.contains(file) { return file }
        // The target is a folder, or a resource, which DocC names without its suffix.
        return checkout.paths.contains { $0.hasPrefix(file + "/") || $0.hasPrefix("\(folder)/Resources/\(link).") }
            ? file : nil
    }

    /// Returns the anchors of a page's headings, in the form that hosts of git repositories use.
    private func headings(of page: String) -> Set<String> {
        var isCode = false
        var anchors: Set<String> = []
        for line in checkout.text(page)?.lines ?? [] {
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode, let title = line.wholeMatch(of: /#+ (.*)/)?.1 else { continue }
            let kept = title.lowercased().filter { $0.isLetter || $0.isNumber || "_- ".contains($0) }
            anchors.insert(kept.replacingOccurrences(of: " ", with: "-"))
        }
        return anchors
    }

    /// Returns the suites to which the article has no link.
    func unnamed() -> [String] {
        let article = checkout.text(Self.contract) ?? ""
        return suites.filter { !article.contains("](../../../\($0)") }.map {
            "\(Self.contract): does not link to \($0)"
        }
    }
}
