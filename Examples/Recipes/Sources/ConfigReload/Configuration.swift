// SPDX-License-Identifier: Apache-2.0

/// The settings that the service reads from its file: lines of `key = number`.
struct Configuration: Sendable, Equatable {
    var workers = 1
    var timeout = 30

    enum Mistake: Error, Equatable {
        case notAnAssignment(line: Int)
        case unknownKey(String)
        case notAPositiveNumber(String)
    }

    init() {}

    init(parsing text: String) throws(Mistake) {
        for (number, line) in text.split(separator: "\n").enumerated() {
            let parts = line.split(separator: "=").map { $0.filter { !$0.isWhitespace } }
            guard parts.count == 2 else { throw .notAnAssignment(line: number + 1) }
            guard let value = Int(parts[1]), value > 0 else { throw .notAPositiveNumber(parts[0]) }
            switch parts[0] {
            case "workers": workers = value
            case "timeout": timeout = value
            default: throw .unknownKey(parts[0])
            }
        }
    }
}
