// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The result of a process that explores, written as one line.
enum ExplorationVerdict: Equatable, Codable {
    case explored(runs: Int, isComplete: Bool)
    case found(invariant: String, message: String, schedule: Schedule, preemptions: Int)
    /// A repeated schedule gave another result: the harness is wrong.
    case diverged(String)

    var line: String {
        // Encoding strings and numbers does not fail.
        String(decoding: try! JSONEncoder().encode(self), as: UTF8.self)
    }

    init?(line: String) {
        guard let verdict = try? JSONDecoder().decode(Self.self, from: Data(line.utf8)) else { return nil }
        self = verdict
    }

    /// The word that stands for the invariant when the process has crashed.
    static let crash = "crash"

    /// The parts of the line that a process writes when it crashes. Between them are the signal,
    /// the schedule and the number of preemptions.
    static let crashLine: Trail.Text = (
        #"{"found":{"invariant":"crash","message":"signal "#, #"","schedule":""#, #"","preemptions":"#, "}}\n"
    )
}
