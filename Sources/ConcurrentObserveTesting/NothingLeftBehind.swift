// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveInspection
public import Testing

/// Fails a test that leaves observations or retired objects of the library behind. Write it as
/// `.leavesNothingBehind`.
public struct NothingLeftBehind: TestTrait, SuiteTrait, TestScoping {
    private let limit: Duration

    init(within limit: Duration) { self.limit = limit }

    /// Always true: a suite's trait applies to each of its tests.
    public var isRecursive: Bool { true }

    /// Runs a test, and then reports what it has left behind.
    ///
    /// - Throws: The error that the test throws.
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
        let deadline = ContinuousClock.now + limit
        var isSettled = await scope.settles(before: deadline, flushing: false)
        // A task that the test has cancelled may end an observation a moment later. So may a
        // library that the test uses.
        let grace = min(deadline, .now + .seconds(1))
        while isSettled, !scope.observations.isEmpty, .now < grace {
            try? await Task.sleep(for: .milliseconds(5))
            isSettled = await scope.settles(before: deadline, flushing: false)
        }
        let left = scope.observations
        for found in LeftBehind.found(in: left) {
            Issue.record(
                Comment(rawValue: found.description),
                sourceLocation: found.places.first?.sourceLocation ?? test.sourceLocation
            )
        }
        // If other tests with the trait are running, retired items that are not reclaimed may
        // belong to those.
        if isSettled || !left.isEmpty || ObservationScope.exists { return }
        Issue.record("\(NotQuiet(scope, limit).description)", sourceLocation: test.sourceLocation)
    }
}

/// Observations that a test has left behind. One line of the program made all of them.
private struct LeftBehind: CustomStringConvertible {
    /// The calls that led to the first of these observations.
    let places: [Origin.Place]
    private var label: String?
    private var isActive = false

    /// Returns one element for each line that made some of `observations`.
    static func found(in observations: [MadeObservation]) -> [LeftBehind] {
        // Looking up names is slow, so it is done once for equal calls.
        let byCalls = Dictionary(grouping: observations) { ($0.origin as? Origin)?.addresses ?? [] }
        let found = byCalls.values.map { LeftBehind(places: ($0[0].origin as? Origin)?.places() ?? [], $0) }
        return Dictionary(grouping: found, by: \.places.first).values.map { same in
            same.dropFirst().reduce(into: same[0]) { all, next in
                all.label = all.label ?? next.label
                all.isActive = all.isActive || next.isActive
            }
        }
    }

    private init(places: [Origin.Place], _ observations: [MadeObservation]) {
        self.places = places
        label = observations.map(\.label).first { !$0.isEmpty }
        isActive = observations.contains(where: \.isActive)
    }

    var description: String {
        let name = label.map { "The observation '\($0)'" } ?? "An observation"
        let state =
            isActive
            ? "is still active: cancel it, or release its token, before the test ends"
            : "has ended, and its closure is not destroyed: a callback is still running"
        let calls = places.prefix(4).map { "  \($0.function) at \($0.file):\($0.line)" }
        return (["\(name) \(state). It was made by:"] + calls).joined(separator: "\n")
    }
}

extension Trait where Self == NothingLeftBehind {
    /// Fails a test that leaves observations behind, closures that cannot be destroyed, or other
    /// retired objects that cannot be reclaimed. The issue is recorded at the line that made the
    /// observation. The end of the test waits for up to ten seconds until everything is reclaimed.
    ///
    /// ```swift
    /// @Suite(.leavesNothingBehind) struct CarTests {
    ///     @Test func mileage() async throws { … }
    /// }
    /// ```
    ///
    /// The observations that a test's tasks make belong to the test. An observation that a thread
    /// or a detached task makes belongs to it only while no other test with the trait is running.
    /// An observation may still end within a second after the test. Without debug information, the
    /// issue is recorded at the test.
    public static var leavesNothingBehind: NothingLeftBehind { leavesNothingBehind(within: .seconds(10)) }

    /// Fails a test that leaves observations behind, closures that cannot be destroyed, or other
    /// retired objects that cannot be reclaimed: see ``leavesNothingBehind``.
    ///
    /// - Parameter limit: The longest time, in real time, for which the end of the test waits until
    ///   everything is reclaimed that the whole process has retired.
    public static func leavesNothingBehind(within limit: Duration) -> NothingLeftBehind {
        NothingLeftBehind(within: limit)
    }
}
