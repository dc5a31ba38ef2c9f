// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
public import Testing

/// Fails a test that leaves something of the library behind. Written `.leavesNothingBehind`.
public struct NothingLeftBehind: TestTrait, SuiteTrait, TestScoping {
    private let limit: Duration

    init(within limit: Duration) { self.limit = limit }

    /// Whether a suite's trait belongs to each of its tests: it does.
    public var isRecursive: Bool { true }

    /// Runs a test, then looks for what it has left behind.
    ///
    /// - Throws: What the test throws.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        Origin.prepare()
        let scope = ObservationScope(origin: { Origin.capture() })
        scope.begin()
        let result: Result<Void, any Error>
        do {
            result = .success(try await ObservationScope.$current.withValue(scope) { try await function() })
        } catch {
            result = .failure(error)
        }
        scope.end()
        await report(scope, of: test)
        try result.get()
    }

    private func report(_ scope: ObservationScope, of test: Test) async {
        let isDrained = await isDrained(before: .now + limit)
        let left = scope.observations
        for (place, made) in Dictionary(grouping: left, by: \.place) {
            let calls = (made[0].origin as? Origin)?.places.filter { $0.line > 0 || place?.line == 0 }.prefix(4) ?? []
            let lines = calls.map { "  \($0.function) at \($0.file):\($0.line)" }
            let label = made.map(\.label).first { !$0.isEmpty }
            let name = label.map { "The observation '\($0)'" } ?? "An observation"
            let text =
                made.contains(where: \.isActive)
                ? "\(name) is still active: cancel it, or release its token, before the test ends. It was made by:"
                : "\(name) has ended, and its closure is not destroyed: a callback is still running. It was made by:"
            Issue.record(
                Comment(rawValue: ([text] + lines).joined(separator: "\n")),
                sourceLocation: place?.sourceLocation ?? test.sourceLocation
            )
        }
        // With other tests, it may be theirs.
        if isDrained || !left.isEmpty || ObservationScope.exists { return }
        Issue.record("\(NotQuiet(scope, limit).description)", sourceLocation: test.sourceLocation)
    }
}

extension Trait where Self == NothingLeftBehind {
    /// Fails a test that leaves observations behind, closures that cannot be destroyed, or other
    /// retired things that cannot be reclaimed. The issue is at the line that made the observation.
    ///
    /// ```swift
    /// @Suite(.leavesNothingBehind) struct CarTests {
    ///     @Test func mileage() async throws { … }
    /// }
    /// ```
    ///
    /// A test's observations are those that its tasks make. What a thread or a detached task makes
    /// counts while no other test with the trait runs at the same time. Where debug information is
    /// missing, the issue is at the test.
    public static var leavesNothingBehind: NothingLeftBehind { leavesNothingBehind(within: .seconds(10)) }

    /// As ``leavesNothingBehind``, with another limit: how long the end of the test waits until what
    /// was retired is reclaimed. It waits for what the whole process has retired until then.
    public static func leavesNothingBehind(within limit: Duration) -> NothingLeftBehind {
        NothingLeftBehind(within: limit)
    }
}
