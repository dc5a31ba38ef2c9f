// SPDX-License-Identifier: Apache-2.0

import Testing

/// Runs `body`, and returns the issues that it records. They do not fail the test.
func recordedIssues(_ body: @Sendable () async throws -> Void) async throws -> [Issue] {
    let issues = Log<Issue>()
    try await withKnownIssue(isIntermittent: true) {
        try await body()
    } matching: { issue in
        issues.append(issue)
        return true
    }
    return issues.entries
}

extension Issue {
    /// The text of its comments.
    var text: String { comments.map(\.rawValue).joined(separator: "\n") }
}

/// Runs `body` on eight threads at the same time, and waits for them.
func onEightThreads(_ body: @escaping @Sendable (Int) -> Void) throws {
    let threads = (0..<8).map { number in TestThread { body(number) } }
    for thread in threads { try thread.join() }
}
