// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveInspection
import Testing

extension Origin.Place {
    /// The place in the form that an issue needs; nil without debug information.
    var sourceLocation: SourceLocation? {
        guard line > 0 else { return nil }
        let folder = path.split(separator: "/").dropLast().last ?? "Tests"
        return SourceLocation(fileID: "\(folder)/\(file)", filePath: path, line: line, column: 1)
    }
}

extension MadeObservation {
    /// The label, if there is one, and the place where the observation was made.
    var name: String {
        let named = label.isEmpty ? "an observation without a label" : "'\(label)'"
        let place = (origin as? Origin)?.places().first
        return named + (place.map { ", made by \($0.function) at \($0.file):\($0.line)" } ?? "")
    }
}
