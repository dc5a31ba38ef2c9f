// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve

extension Derived {
    /// Explains why the function ran the last time, and whether a read would run it again.
    ///
    /// ```swift
    /// print(verdict.explain())
    /// // Server/Health.swift:28 ran 3 times. The last time 'errors' had changed.
    /// //   'errors': version 4, before 3
    /// //   'requests': version 9
    /// // It is stale: 'requests' has changed since. It has 1 observation.
    /// ```
    ///
    /// The earlier versions, and the number of runs, are only known for runs after
    /// `startRecording()`. Call this from any thread, also inside a callback. Inside the function
    /// itself, it explains the previous result. It does not run the function. It may read the
    /// version of a source whose type is yours; it holds no lock then. It retains each source for a
    /// moment. If that was the last reference, the source's `deinit` runs in this call.
    ///
    /// The versions of the same source in two evaluations are compared. A source of your own type
    /// can be recognised if it is an object. If it is not an object, sources of such types are
    /// compared in their order, and only if both evaluations have read the same types. A recorded
    /// run retains the sources of your types that this run and the evaluation before it have read.
    /// They are released at the next run, or, after `stopRecording()`, at the next evaluation.
    ///
    /// - Complexity: O(*n*), for *n* sources that the function has read.
    public func explain() -> DerivedExplanation {
        let inspected = inspect()
        return DerivedExplanation(inspected, observationCount: observationCount)
    }
}

/// Explains why the function of a derived value ran the last time. `description` is the explanation
/// as text.
public struct DerivedExplanation: Sendable, CustomStringConvertible {
    /// A source that the function has read.
    public struct Source: Sendable, Equatable {
        /// The label, in quotes. A derived value is named by its place. Another source without a
        /// label is named by its type.
        public let name: String
        /// The version that the run before the last one read. Nil if it is not known, or if that
        /// run did not read the source.
        public let before: UInt64?
        /// The version that the last run read; nil if it did not read the source.
        public let version: UInt64?
        /// Whether the source has changed since. Nil if only a read of the source can show this.
        public let hasChanged: Bool?

        /// Whether the last two runs read different versions of the source.
        public var isCause: Bool { before != nil && version != nil && before != version }
    }

    /// The file and the line that made the derived value, for example `Server/Health.swift:28`.
    public let place: String
    /// The number of runs of the function whose results were published; nil if runs are not
    /// recorded.
    public let runs: Int?
    /// The sources that the last run read, in the order of the reads. After them, the sources that
    /// it no longer reads. A derived value among them stands for everything that it was made from.
    public let sources: [Source]
    /// The number of observations of the derived value.
    public let observationCount: Int
    private let isEvaluated: Bool

    init(_ inspected: InspectedDerivation, observationCount: Int) {
        place = inspected.place
        runs = inspected.runs
        sources =
            inspected.reads.map { read in
                Source(name: read.name, before: read.before, version: read.version, hasChanged: read.hasChanged)
            }
            + inspected.left.map { Source(name: $0.name, before: $0.version, version: nil, hasChanged: false) }
        self.observationCount = observationCount
        isEvaluated = inspected.isEvaluated
    }

    /// Whether a read would run the function: true if it has not run, or if a source has changed
    /// since. Nil if this can be known only by reading a source: a derived value, or a source of
    /// your own type.
    public var isStale: Bool? {
        if !isEvaluated || sources.contains(where: { $0.hasChanged == true }) { return true }
        return sources.contains { $0.hasChanged == nil } ? nil : false
    }

    public var description: String {
        guard isEvaluated else { return "\(place) has not run." }
        let lines = sources.map { source in
            let version = source.version.map { "version \($0)" } ?? "not read any more"
            let before = source.before == source.version ? nil : source.before
            return "  \(source.name): \(version)" + (before.map { ", before \($0)" } ?? "")
        }
        let observations = "It has \(observationCount) observation\(observationCount == 1 ? "" : "s")."
        return (["\(place) \(history)"] + lines + ["\(state) \(observations)"]).joined(separator: "\n")
    }

    private var history: String {
        guard let runs else { return "has run. Record runs to know why." }
        if runs == 0 { return "has not run since the recording began." }
        let count = "ran \(runs == 1 ? "once" : "\(runs) times")."
        let causes = sources.filter(\.isCause).map(\.name)
        if !causes.isEmpty { return "\(count) The last time \(list(causes)) had changed." }
        if sources.contains(where: { $0.before != nil }) {
            return "\(count) The last time a source had changed that it does not read any more."
        }
        return "\(count) It was the first time."
    }

    private var state: String {
        func names(_ hasChanged: Bool?) -> String { list(sources.filter { $0.hasChanged == hasChanged }.map(\.name)) }
        return switch isStale {
        case true?: "It is stale: \(names(true)) has changed since."
        case false?: "It is current."
        case nil: "It may be stale: \(names(nil)) must be read to know."
        }
    }

    private func list(_ names: [String]) -> String { names.joined(separator: ", ") }
}
