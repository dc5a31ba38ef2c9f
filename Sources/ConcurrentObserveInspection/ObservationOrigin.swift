// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve

/// The active observations that a line of the program has made. If there are more of them than the
/// program needs, or older ones, they are a leak.
public struct ObservationOrigin: Sendable, Equatable, CustomStringConvertible {
    /// The file and the line that made the observations, for example `Session.swift:41`. Without
    /// debug information, the function.
    public let place: String
    /// The label of the oldest observation that has a label, or whose source has one. Nil if there
    /// is none.
    public let label: String?
    /// The number of these observations that have not ended.
    public let count: Int
    /// The ages of the observations, from the newest to the oldest.
    public let ages: ClosedRange<Duration>

    /// One line with the place, the label, the count, and the ages of the oldest and the newest
    /// observation.
    public var description: String {
        let name = label.map { " '\($0.onOneLine)'" } ?? ""
        return "\(place)\(name): \(count), oldest \(seconds(ages.upperBound)), newest \(seconds(ages.lowerBound))"
    }
}

/// Returns a duration as text, in seconds with one decimal.
private func seconds(_ duration: Duration) -> String {
    let tenths = Int(duration / .milliseconds(100))
    return "\(tenths / 10).\(tenths % 10) s"
}

extension ConcurrentObserveDiagnostics {
    /// Returns the lines of the program that made active observations, each with its observations.
    /// The line that made the oldest observation comes first. Observations from before
    /// `startRecording()` are not included.
    ///
    /// Each observation of the program counts once, even if the library makes several for it.
    /// Observations whose owners are dead end. (P13) Call it from any thread, also inside a
    /// callback. It never waits for user code.
    ///
    /// - Complexity: O(*n* log *n*) for *n* observations. The first time that a line occurs, a
    ///   thread of the library reads the debug information of all calls that led there. This takes
    ///   some hundred milliseconds, or seconds in a large program. Concurrent calls wait for each
    ///   other.
    public static func observationsByOrigin() -> [ObservationOrigin] {
        let observations = ObservationScope.ofProcess?.observations.filter { $0.isActive && $0.isOfProgram } ?? []
        let now = observations.first?.recorded?.now() ?? .zero
        let places = PlaceNames.places(of: observations)
        // The oldest observation comes first, in the list and in each group.
        return Dictionary(grouping: zip(places, observations), by: \.0)
            .map { place, made in
                let ages = made.compactMap { $0.1.recorded.map { now - $0.time } }
                return ObservationOrigin(
                    place: place ?? "a place that is not known",
                    label: made.lazy.map(\.1.label).first { !$0.isEmpty },
                    count: made.count,
                    ages: (ages.min() ?? .zero)...(ages.max() ?? .zero)
                )
            }
            .sorted { ($1.ages.upperBound, $0.place) < ($0.ages.upperBound, $1.place) }
    }
}
