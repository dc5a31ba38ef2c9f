// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Runtime

/// The calls that led to an observation. They are stored as addresses. The names are found when a
/// report needs them.
package struct Origin: Sendable {
    let backtrace: Backtrace?

    /// The images of the process. Each capture receives them. Otherwise it would read them again,
    /// which takes a millisecond.
    private static let images = ImageMap.capture()

    /// Captures the calls in which the calling thread or task is.
    ///
    /// - Complexity: O(1). It captures at most 40 calls, and takes some microseconds.
    package static func capture() -> Origin {
        Origin(backtrace: try? Backtrace.capture(limit: 40, top: 0, images: images))
    }

    /// Does the work that is needed only once, at the first capture. Call it where no lock is held.
    package static func prepare() { _ = capture() }

    /// A call in the program or the test.
    package struct Place: Hashable, Sendable {
        package let function: String
        package let path: String
        package let line: Int
        package let file: String
        /// The file and the line, or the function if the line is not known.
        package let text: String

        init(function: String, path: String = "", line: Int = 0) {
            (self.function, self.path, self.line) = (function, path, line)
            file = path.split(separator: "/").last.map(String.init) ?? path
            // The compiler's thunks, and libraries without debug information, have no line.
            text = line > 0 ? "\(file):\(line)" : function
            hasLine = line > 0 && !file.hasPrefix("@__swiftmacro")
        }

        /// Whether the line is known, and belongs to a file of the program.
        let hasLine: Bool
    }

    /// The addresses of the calls. Two observations have equal addresses if the same line made them
    /// through the same calls.
    package var addresses: [Backtrace.Address] { backtrace?.frames.map(\.originalProgramCounter) ?? [] }

    /// Returns the calls that led to the observation, except calls inside the library. The caller
    /// of `observe` comes first.
    ///
    /// - Complexity: Reads the debug information: see `PlaceNames`.
    package func places() -> [Place] {
        let names = PlaceNames.names(of: [self]) { $0.hasNames(in: $1) }
        let places = backtrace?.frames.flatMap { names[$0.adjustedProgramCounter] ?? [] } ?? []
        let known = places.filter(\.hasLine)
        return known.isEmpty ? places : known
    }
}
