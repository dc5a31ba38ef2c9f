// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Runtime

/// The calls that led to an observation. They are kept as addresses until a report needs their
/// names.
package struct Origin: Sendable {
    let backtrace: Backtrace?

    /// The images of the process. They are passed to each capture, which would otherwise need a
    /// millisecond to read them again.
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
        package let file: String
        /// The file and the line, or the function if these are not known.
        package let text: String

        init(function: String, path: String = "", line: Int = 0) {
            (self.function, self.path, self.line) = (function, path, line)
            file = path.split(separator: "/").last.map(String.init) ?? path
            // The compiler's thunks, and libraries without debug information, have no line.
            text = line > 0 ? "\(file):\(line)" : function
            hasLine = line > 0 && !file.hasPrefix("@__swiftmacro")
        }

        /// Whether the line is one of the program's files.
        let hasLine: Bool
    }

    /// The addresses of the calls. They are equal for two observations that the same line has made
    /// in the same way.
    package var addresses: [Backtrace.Address] { backtrace?.frames.map(\.originalProgramCounter) ?? [] }

    /// Returns the calls that led to the observation, without those of the library: the caller of
    /// `observe` first.
    ///
    /// - Complexity: Reads the debug information: see `PlaceNames`.
    package func places() -> [Place] {
        let names = PlaceNames.names(of: [self]) { $0.hasNames(in: $1) }
        let places = backtrace?.frames.flatMap { names[$0.adjustedProgramCounter] ?? [] } ?? []
        let known = places.filter(\.hasLine)
        return known.isEmpty ? places : known
    }
}
