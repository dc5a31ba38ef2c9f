// SPDX-License-Identifier: Apache-2.0

/// The course of resident memory in a long run. It is measured at rest, each time that all
/// scenarios have had a round.
package struct MemoryCourse: Codable, Sendable {
    /// The name of the invariant that memory stays level.
    package let invariant: String
    /// The largest accepted growth from the warm level to the level at the end, in bytes.
    package static let tolerance = 4 << 20

    package struct Point: Codable, Sendable {
        package let seconds: Double
        package let residentBytes: Int

        package init(seconds: Double, residentBytes: Int) {
            (self.seconds, self.residentBytes) = (seconds, residentBytes)
        }
    }

    /// The time before the first measurement that counts. Pools, arenas and caches still grow
    /// during this time.
    package let warmUpSeconds: Double
    package private(set) var points: [Point] = []

    package init(_ invariant: String, warmUpSeconds: Double = 60) {
        (self.invariant, self.warmUpSeconds) = (invariant, warmUpSeconds)
    }

    /// Measures the resident memory of the process. Before that, makes the allocator return free
    /// memory to the system.
    package mutating func look(seconds: Double) {
        ResidentMemory.giveBack()
        add(Point(seconds: seconds, residentBytes: ResidentMemory.current))
    }

    package mutating func add(_ point: Point) { points.append(point) }

    private var warm: [Point] { points.filter { $0.seconds >= warmUpSeconds } }

    /// The number of measurements in a row from which a level is made: it is the lowest of them.
    /// Used memory lies scattered among free memory, so single measurements differ by some
    /// mebibytes. Leaked memory is part of each of them.
    private static let looksForLevel = 4

    /// The growth from the warm level to the level at the end, in bytes. Nil if there are too few
    /// measurements.
    package var growth: Int? {
        guard isLongEnough else { return nil }
        return Self.level(warm.suffix(Self.looksForLevel)) - Self.level(warm.prefix(Self.looksForLevel))
    }

    private var isLongEnough: Bool { warm.count >= 2 * Self.looksForLevel }

    /// The growth in bytes a minute, by least squares over the measurements after the warm-up.
    package var slope: Double? {
        guard isLongEnough else { return nil }
        let count = Double(warm.count)
        let time = warm.reduce(0) { $0 + $1.seconds } / count
        let level = warm.reduce(0) { $0 + Double($1.residentBytes) } / count
        let product = warm.reduce(0) { $0 + ($1.seconds - time) * (Double($1.residentBytes) - level) }
        let square = warm.reduce(0) { $0 + ($1.seconds - time) * ($1.seconds - time) }
        return square > 0 ? 60 * product / square : nil
    }

    /// Whether memory has grown by more than the tolerance. False if the run is too short to show
    /// growth.
    package var hasGrown: Bool { (growth ?? 0) > Self.tolerance }

    package var text: String {
        guard let growth, let slope else {
            return "not judged: fewer than \(2 * Self.looksForLevel) rounds of all scenarios "
                + "after the first \(Int(warmUpSeconds)) s"
        }
        return "\(hasGrown ? "NOT FLAT" : "flat"), \(Format.mebibytes(Double(growth))) from the warm level to the end, "
            + "\(Format.mebibytes(slope)) a minute (\(invariant), at most \(Self.tolerance >> 20) MiB)"
    }

    private static func level(_ points: ArraySlice<Point>) -> Int { points.map(\.residentBytes).min() ?? 0 }
}
