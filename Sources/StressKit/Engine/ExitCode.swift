// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The exit codes of the command.
package enum StressExit: Int32, Error {
    case pass = 0
    case usage = 1
    case violated = 2
    case harnessError = 3
    case inconclusive = 4
    case hang = 5
    case mutantSurvived = 6
    case crash = 7

    /// Returns the rank of an exit code. If two runs are combined, the code with the higher rank is
    /// the code of both.
    package static func severity(of code: Int32) -> Int {
        let order: [StressExit] = [.pass, .inconclusive, .mutantSurvived, .violated, .hang, .crash, .harnessError]
        return order.firstIndex { $0.rawValue == code } ?? order.count
    }
}

/// Ends the process, because the harness itself cannot go on.
package func harnessFailure(_ message: String) -> Never {
    StandardError.print("stress: \(message)")
    exit(StressExit.harnessError.rawValue)
}

package enum StandardError {
    package static func print(_ line: String) {
        var bytes = Array(line.utf8)
        bytes.append(UInt8(ascii: "\n"))
        _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
