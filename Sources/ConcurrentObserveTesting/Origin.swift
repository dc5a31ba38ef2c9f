// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Runtime
import Testing

/// The calls that led to an observation. They are kept as addresses until a report needs their
/// names.
struct Origin: Sendable {
    private let backtrace: Backtrace?

    /// The images of the process. Passed to each capture, which would otherwise spend a millisecond
    /// to read them again.
    private static let images = ImageMap.capture()

    /// Captures the calls that the calling thread or task is in.
    ///
    /// - Complexity: O(1). It takes some microseconds, for 40 calls at most.
    static func capture() -> Origin {
        Origin(backtrace: try? Backtrace.capture(limit: 40, top: 0, images: images))
    }

    /// Does the work that only the first capture needs. Call it where no lock is held.
    static func prepare() { _ = capture() }

    /// A call in the program or the test.
    struct Place: Hashable {
        let function: String
        let path: String
        let line: Int

        var file: String { path.split(separator: "/").last.map(String.init) ?? path }

        /// The place, as an issue shows it; nil without debug information.
        var sourceLocation: SourceLocation? {
            guard line > 0 else { return nil }
            let folder = path.split(separator: "/").dropLast().last ?? "Tests"
            return SourceLocation(fileID: "\(folder)/\(file)", filePath: path, line: line, column: 1)
        }
    }

    /// The addresses of the calls. If the same calls led to two observations, their addresses are
    /// equal.
    var addresses: [Backtrace.Address] { backtrace?.frames.map(\.originalProgramCounter) ?? [] }

    /// Returns the calls that led to the observation, without those of the library: the caller of
    /// `observe` first.
    ///
    /// - Complexity: Reads the debug information: some milliseconds, or seconds in a large program.
    func places() -> [Place] {
        guard let frames = backtrace?.symbolicated()?.frames else { return [] }
        let places = frames.compactMap { frame -> Place? in
            guard let symbol = frame.symbol, !isOfLibrary(symbol.rawName) else { return nil }
            return Place(
                function: symbol.name,
                path: symbol.sourceLocation?.path ?? "",
                line: symbol.sourceLocation?.line ?? 0
            )
        }
        // The compiler's thunks, and libraries without debug information, have no line.
        let known = places.filter { $0.line > 0 && !$0.file.hasPrefix("@__swiftmacro") }
        return known.isEmpty ? places : known
    }

    private func isOfLibrary(_ symbol: String) -> Bool {
        ["$s17ConcurrentObserve", "$s24ConcurrentObserveTesting"].contains { module in
            // In the symbols of a module with a longer name, such as a test module, another length
            // precedes the name.
            symbol.hasPrefix(module)
        }
    }
}

extension MadeObservation {
    /// The label, if there is one, and where the observation was made.
    var name: String {
        let named = label.isEmpty ? "an observation without a label" : "'\(label)'"
        let place = (origin as? Origin)?.places().first
        return named + (place.map { ", made by \($0.function) at \($0.file):\($0.line)" } ?? "")
    }
}
