// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The result of an exploring process, in one line.
enum ExplorationVerdict: Equatable, Codable {
    case explored(runs: Int, isComplete: Bool)
    case found(invariant: String, message: String, schedule: Schedule, preemptions: Int)
    /// The harness is at fault.
    case diverged(String)

    var line: String {
        // Encoding strings and numbers does not fail.
        String(decoding: try! JSONEncoder().encode(self), as: UTF8.self)
    }

    init?(line: String) {
        guard let verdict = try? JSONDecoder().decode(Self.self, from: Data(line.utf8)) else { return nil }
        self = verdict
    }

    /// The word in place of an invariant when the process has crashed.
    static let crash = "crash"

    /// The line of a process that crashes: around the signal, the schedule and the preemptions.
    static let crashLine: Trail.Text = (
        #"{"found":{"invariant":"crash","message":"signal "#, #"","schedule":""#, #"","preemptions":"#, "}}\n"
    )
}
