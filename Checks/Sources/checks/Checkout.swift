// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The files of a checkout, by their paths from its root. Tests add files to it in memory, and
/// change no file on disk.
struct Checkout {
    /// The files that git tracks or would add, and the files below `Sources` on disk.
    private(set) var paths: Set<String> = []
    /// The files that git tracks.
    private(set) var tracked: Set<String> = []
    private var root: URL?
    private var planted: [String: String] = [:]

    init() {}

    /// Reads the checkout in which the command runs.
    static func current() throws -> Checkout {
        try Checkout(root: URL(fileURLWithPath: FileManager.default.currentDirectoryPath))
    }

    init(root: URL) throws {
        self.root = root
        tracked = try Self.listed(root)
        paths = try tracked.union(Self.listed(root, "--others", "--exclude-standard")).filter {
            FileManager.default.fileExists(atPath: root.appendingPathComponent($0).path)
        }
        let sources = FileManager.default.enumerator(atPath: root.appendingPathComponent("Sources").path)
        while let path = sources?.nextObject() as? String {
            if sources?.fileAttributes?[.type] as? FileAttributeType == .typeRegular { paths.insert("Sources/" + path) }
        }
    }

    private static func listed(_ root: URL, _ options: String...) throws -> Set<String> {
        let output = try Command("git", ["ls-files", "-z"] + options, in: root.path).succeed()
        return Set(output.split(separator: "\0").map(String.init))
    }

    /// Returns the text of a file; nil if it is a link or not a file.
    func text(_ path: String) -> String? {
        if let text = planted[path] { return text }
        guard paths.contains(path), let file = root?.appendingPathComponent(path),
            (try? FileManager.default.attributesOfItem(atPath: file.path)[.type]) as? FileAttributeType == .typeRegular,
            let data = try? Data(contentsOf: file)
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    mutating func plant(_ path: String, _ text: String, tracked: Bool = true) {
        paths.insert(path)
        planted[path] = text
        if tracked { self.tracked.insert(path) }
    }

    mutating func remove(_ path: String) {
        paths.remove(path)
        tracked.remove(path)
        planted[path] = nil
    }

    /// Returns the Swift files below a folder, in order.
    func swiftFiles(below folder: String) -> [String] {
        paths.filter { $0.hasPrefix(folder + "/") && $0.hasSuffix(".swift") }.sorted()
    }
}
