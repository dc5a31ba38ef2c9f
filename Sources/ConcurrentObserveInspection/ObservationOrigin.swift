// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve

/// The observations that a line of the program has made and that have not ended. If there are more
/// of them than the program needs, or older ones, they are a leak.
public struct ObservationOrigin: Sendable, Equatable, CustomStringConvertible {
    /// The file and the line that made the observations, as in `Session.swift:41`. Without debug
    /// information, it is the function.
    public let place: String
    /// The label of the oldest observation that has one, or whose source has one; nil if none has.
    public let label: String?
    /// The number of these observations that have not ended.
    public let count: Int
    /// The time since the last of them was made, and the time since the first.
    public let ages: ClosedRange<Duration>

    /// One line with the place, the count, the ages of the oldest and the newest, and the label.
    public var description: String {
        let name = label.map { " '\($0.onOneLine)'" } ?? ""
        return "\(place)\(name): \(count), oldest \(seconds(ages.upperBound)), newest \(seconds(ages.lowerBound))"
    }
}

/// Returns a duration as text in seconds, with one decimal.
private func seconds(_ duration: Duration) -> String {
    let tenths = Int(duration / .milliseconds(100))
    return "\(tenths / 10).\(tenths % 10) s"
}

extension ConcurrentObserveDiagnostics {
    /// Returns where the observations were made that have not ended: one element for each line of
    /// the program, the line of the oldest observation first. Empty unless `startRecording()` was
    /// called; observations from before that call are not included.
    ///
    /// An observation counts once, whatever the library needs for it. Observations whose owners are
    /// dead end. (P13) Any thread, also inside a callback; never waits for user code.
    ///
    /// - Complexity: O(observations log observations). The first look at a line reads the debug
    ///   information of all calls that led to it, on a thread of the library, which takes some
    ///   hundred milliseconds, or seconds in a large program. Calls at the same time wait for each
    ///   other.
    public static func observationsByOrigin() -> [ObservationOrigin] {
        let observations = ObservationScope.ofProcess?.observations.filter { $0.isActive && $0.isOfProgram } ?? []
        let now = observations.first?.recorded?.now() ?? .zero
        let places = PlaceNames.places(of: observations)
        // The oldest observation comes first, and so it does in each group.
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
