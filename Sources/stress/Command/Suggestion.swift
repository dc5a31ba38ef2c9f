// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Returns the error for a name that does not exist. It has the name that was probably meant, and
/// the command that lists all names.
///
/// - Parameters:
///   - kind: The kind of thing, such as "scenario".
///   - name: The name that does not exist.
///   - names: All names that exist.
///   - command: The command that lists them.
func unknown(_ kind: String, _ name: String, among names: [String], listedBy command: String) -> ValidationError {
    let suggestion = nearest(to: name, among: names).map { "did you mean '\($0)'? " } ?? ""
    return ValidationError("unknown \(kind) '\(name)'; \(suggestion)`\(command)` names them")
}

/// Returns the name that differs least from `text`; nil if each differs by more than a third of the
/// letters.
func nearest(to text: String, among names: [String]) -> String? {
    let distances = names.map { (name: $0, distance: editDistance(text.lowercased(), $0.lowercased())) }
    guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(1, text.count / 3) ? best.name : nil
}

/// Returns the number of letters that must be inserted, removed or replaced to make one text the
/// other (Levenshtein's distance).
///
/// - Complexity: O(product of the lengths).
private func editDistance(_ from: String, _ to: String) -> Int {
    let to = Array(to)
    var row = Array(0...to.count)
    for (index, letter) in from.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in to.indices {
            let replaced = diagonal + (letter == to[column] ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
        }
    }
    return row[to.count]
}
