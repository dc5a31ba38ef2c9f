// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A copy of a user's package that depends on the instrumented copy of the library. In that copy
/// threads are delayed, and requests to the system fail: `Scripts/perturbed.sh`.
///
/// Both copies are below `.build/perturbed` of the user's package. No other part of the package is
/// written.
struct Perturbed {
    private static let (edits, added) = ("Instrumented/Perturbed/", "Instrumented/Perturbed/Perturbed.swift")

    static func write(
        _ arguments: [String],
        root: String = FileManager.default.currentDirectoryPath
    ) throws -> String {
        guard arguments.count == 1 else { throw Failure("which package?", code: 2) }
        let root = URL(fileURLWithPath: root).resolvingSymlinksInPath().path
        let package = URL(fileURLWithPath: arguments[0]).resolvingSymlinksInPath().path
        guard let manifest = try? String(contentsOfFile: package + "/Package.swift", encoding: .utf8) else {
            throw Failure("\(package) has no Package.swift", code: 2)
        }
        if dependencies(in: manifest, on: root, of: package).isEmpty {
            throw Failure("\(package)/Package.swift: no dependency on ConcurrentObserve", code: 2)
        }
        let folder = "\(package)/.build/perturbed"
        let library = PackageCopy(of: root, in: "\(folder)/ConcurrentObserve")
        try library.renew(changes(Checkout(root: URL(fileURLWithPath: root))))
        let copy = "\(folder)/\((package as NSString).lastPathComponent)"
        try PackageCopy(of: package, in: copy).renew([:]) { manifest in
            redirect(manifest, on: root, of: package, to: library.folder)
        }
        // SwiftPM looks for new and removed files of a dependency only if its manifest is newer.
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: copy + "/Package.swift")
        return copy
    }

    /// Returns the files of the library that differ in its copy: the edited ones, and the
    /// additional ones.
    ///
    /// The copy of the library is one module, like the instrumented copy. Rooms that are modules of
    /// their own move into the folder `Instrumentation`, and leave an empty module behind, which
    /// other targets may go on importing.
    static func changes(_ checkout: Checkout) throws -> [String: String?] {
        let inside = Structure.sources + "/"
        var files: [String: String] = try Instrumented(checkout).files.reduce(into: [:]) { files, file in
            let isMoved = Structure.modules.keys.contains { file.key.hasPrefix($0 + "/") }
            files[inside + (isMoved ? "Instrumentation/" : "") + file.key] = file.value
        }
        for (path, edits) in try EditList(checkout, below: edits).edits {
            guard let text = files.removeValue(forKey: path) else { throw Failure("the copy has no file \(path)") }
            files[path.dropLast(6) + ".perturbed.swift"] = try EditedFile(path, text).apply(edits)
        }
        files[inside + "Instrumentation/Perturbed.swift"] = checkout.text(added)
        for room in Structure.modules.keys { files["\(inside)\(room)/Empty.swift"] = "" }
        let originals = checkout.paths.filter { $0.hasPrefix(inside) && $0.hasSuffix(".swift") }
        return originals.reduce(into: files.mapValues(Optional.some)) { if files[$1] == nil { $0[$1] = .some(nil) } }
    }

    /// Returns a manifest that depends on a copy of the library instead, under the same name.
    static func redirect(_ manifest: String, on root: String, of package: String, to copy: String) -> String {
        var text = manifest
        for call in dependencies(in: manifest, on: root, of: package).reversed() {
            let traits = manifest[call.range].firstMatch(of: /,\s*traits:\s*\[.*\]/.dotMatchesNewlines())?.output ?? ""
            text.replaceSubrange(call.range, with: ".package(name: \"\(call.name)\", path: \"\(copy)\"\(traits))")
        }
        return text
    }

    /// Returns the places in a manifest that declare the dependency on the library, with its name.
    private static func dependencies(
        in manifest: String,
        on root: String,
        of package: String
    ) -> [(range: Range<String.Index>, name: String)] {
        manifest.ranges(of: ".package(").compactMap { start in
            var depth = 0
            guard
                let end = manifest[start.lowerBound...].indices.first(where: { index in
                    if manifest[index] == "(" { depth += 1 }
                    if manifest[index] == ")" { depth -= 1 }
                    return depth == 0 && manifest[index] == ")"
                }),
                let place = manifest[start.upperBound..<end].firstMatch(of: /(url|path):\s*"([^"]+)"/)
            else { return nil }
            let path = URL(fileURLWithPath: String(place.2), relativeTo: URL(fileURLWithPath: package + "/"))
            let last = place.1 == "path" ? path.standardizedFileURL.lastPathComponent : path.lastPathComponent
            let identity = last.hasSuffix(".git") ? String(last.dropLast(4)) : last
            let isLibrary =
                identity.lowercased() == "concurrentobserve"
                || place.1 == "path" && path.resolvingSymlinksInPath().path == root
            let name = manifest[start.upperBound..<end].prefixMatch(of: /\s*name:\s*"([^"]+)"/)?.1
            return isLibrary ? (start.lowerBound..<manifest.index(after: end), name.map(String.init) ?? identity) : nil
        }
    }
}
