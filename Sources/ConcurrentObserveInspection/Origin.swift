// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Runtime

/// The calls that led to an observation. They are kept as addresses until a report needs their
/// names.
package struct Origin: Sendable {
    private let backtrace: Backtrace?

    /// The images of the process. Passed to each capture, which would otherwise spend a millisecond
    /// to read them again.
    private static let images = ImageMap.capture()

    /// Captures the calls that the calling thread or task is in.
    ///
    /// - Complexity: O(1). It takes some microseconds, for 40 calls at most.
    package static func capture() -> Origin {
        Origin(backtrace: try? Backtrace.capture(limit: 40, top: 0, images: images))
    }

    /// Does the work that only the first capture needs. Call it where no lock is held.
    package static func prepare() { _ = capture() }

    /// A call in the program or the test.
    package struct Place: Hashable, Sendable {
        package let function: String
        package let path: String
        package let line: Int

        package var file: String { path.split(separator: "/").last.map(String.init) ?? path }

        /// The file and the line; the function if these are not known.
        package var text: String { line > 0 ? "\(file):\(line)" : function }
    }

    /// The addresses of the calls. Two observations that the same line makes in the same way have
    /// the same.
    package var addresses: [Backtrace.Address] { backtrace?.frames.map(\.originalProgramCounter) ?? [] }

    /// Returns the calls that led to the observation, without those of the library: the caller of
    /// `observe` first.
    ///
    /// - Complexity: Reads the debug information: some milliseconds, or seconds in a large program.
    package func places() -> [Place] {
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
        // A longer name, such as a test module's, has another length in front.
        ["17ConcurrentObserve", "24ConcurrentObserveTesting", "27ConcurrentObserveInspection"]
            .contains { symbol.hasPrefix("$s\($0)") }
    }
}
