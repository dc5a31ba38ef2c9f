// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A copy of a package in a folder of its own, without the files of git and of builds.
///
/// The copy is updated in place. Files that have not changed are not written, so the build does not
/// compile them again. The folder is in `.build/mutants` or `.build/perturbed`, because all other
/// files in it are removed.
struct PackageCopy {
    /// The absolute path of the package.
    let package: String
    /// The path of the copy's folder.
    let folder: String
    private let files = FileManager.default

    init(of package: String, in folder: String) { (self.package, self.folder) = (package, folder) }

    /// Makes the copy equal to the package, but for the changes.
    ///
    /// - Parameters:
    ///   - changes: The texts of files that differ in the copy, by their paths in the package. Nil
    ///     for a file that the copy does not have.
    ///   - manifest: Makes further changes to the text of each manifest.
    func renew(_ changes: [String: String?], manifest: (String) throws -> String = { $0 }) throws {
        guard folder.contains(/\/\.build\/(mutants|perturbed)\/[^\/]+$/), !folder.hasSuffix("/..") else {
            throw Failure("\(folder) is no place for a copy, which removes what else is there")
        }
        var kept: Set<String> = []
        try copy("", except: Set(changes.keys), into: &kept, manifest)
        for case (let path, let text?) in changes {
            try Self.write(text, "\(folder)/\(path)")
            kept.insert(path)
        }
        let found = files.enumerator(atPath: folder)
        while let path = found?.nextObject() as? String {
            if path == ".build" {
                found?.skipDescendants()
            } else if path != "Package.resolved", !kept.contains(path),
                try kind(of: "\(folder)/\(path)") != .typeDirectory
            {
                try files.removeItem(atPath: "\(folder)/\(path)")
            }
        }
    }

    /// Writes a file, and makes its folders. Does nothing if the file already has this text.
    static func write(_ text: String, _ path: String) throws {
        let file = URL(fileURLWithPath: path)
        if (try? String(contentsOf: file, encoding: .utf8)) == text { return }
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    private func copy(
        _ path: String,
        except changed: Set<String>,
        into kept: inout Set<String>,
        _ manifest: (String) throws -> String
    ) throws {
        try files.createDirectory(atPath: "\(folder)/\(path)", withIntermediateDirectories: true)
        for name in try files.contentsOfDirectory(atPath: "\(package)/\(path)") {
            let inside = path.isEmpty ? name : "\(path)/\(name)"
            let (old, new) = ("\(package)/\(inside)", "\(folder)/\(inside)")
            switch try kind(of: old) {
            case _ where changed.contains(inside): continue
            case .typeDirectory:
                // A folder with this file belongs to a build of SwiftPM.
                let isBuilt =
                    name == ".git" || name.hasPrefix(".build")
                    || files.fileExists(atPath: old + "/workspace-state.json")
                if !isBuilt { try copy(inside, except: changed, into: &kept, manifest) }
                continue
            case .typeRegular where path.isEmpty && name.hasPrefix("Package") && name.hasSuffix(".swift"):
                let text = try String(contentsOfFile: old, encoding: .utf8)
                try Self.write(manifest(absolutePaths(of: text)), new)
            case .typeRegular where !files.contentsEqual(atPath: old, andPath: new):
                try? files.removeItem(atPath: new)
                try files.copyItem(atPath: old, toPath: new)
            case .typeSymbolicLink:
                let end = try files.destinationOfSymbolicLink(atPath: old)
                let destination = absolutePath(end, from: (old as NSString).deletingLastPathComponent) ?? end
                if (try? files.destinationOfSymbolicLink(atPath: new)) == destination { break }
                try? files.removeItem(atPath: new)
                try files.createSymbolicLink(atPath: new, withDestinationPath: destination)
            default: break
            }
            kept.insert(inside)
        }
    }

    private func kind(of path: String) throws -> FileAttributeType? {
        try files.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    }

    /// Returns the absolute path of a relative path that leads out of the package; nil if it does
    /// not.
    private func absolutePath(_ path: String, from base: String) -> String? {
        let end = URL(fileURLWithPath: path, relativeTo: URL(fileURLWithPath: base + "/")).standardizedFileURL.path
        return end == package || end.hasPrefix(package + "/") ? nil : end
    }

    /// Returns the manifest with absolute paths of dependencies, which are valid in the copy, too.
    private func absolutePaths(of manifest: String) -> String {
        manifest.replacing(/(\.package\(\s*(?:name:\s*"[^"]*",\s*)?path:\s*)"([^"]*)"/) { match in
            "\(match.1)\"\(absolutePath(String(match.2), from: package) ?? String(match.2))\""
        }
    }
}
