// SPDX-License-Identifier: Apache-2.0

/// Resident memory over a long run, at rest, each time that all scenarios have had a round.
package struct MemoryCourse: Codable, Sendable {
    /// The invariant that it belongs to.
    package let invariant: String
    /// How far the end may be from the warm level.
    package static let tolerance = 4 << 20

    package struct Point: Codable, Sendable {
        package let seconds: Double
        package let residentBytes: Int

        package init(seconds: Double, residentBytes: Int) {
            (self.seconds, self.residentBytes) = (seconds, residentBytes)
        }
    }

    /// Until then pools, arenas and caches still fill.
    package let warmUpSeconds: Double
    package private(set) var points: [Point] = []

    package init(_ invariant: String, warmUpSeconds: Double = 60) {
        (self.invariant, self.warmUpSeconds) = (invariant, warmUpSeconds)
    }

    /// Looks at the process: the allocator returns what it keeps for later first.
    package mutating func look(seconds: Double) {
        ResidentMemory.giveBack()
        add(Point(seconds: seconds, residentBytes: ResidentMemory.current))
    }

    package mutating func add(_ point: Point) { points.append(point) }

    private var warm: [Point] { points.filter { $0.seconds >= warmUpSeconds } }

    /// How many looks in a row make a level: the lowest of them. What is in use lies scattered
    /// among what was freed, so that chance keeps some mebibytes resident at one look and none at
    /// the next; what leaks is there at each.
    private static let looksForLevel = 4

    /// From the warm level to that at the end; nil while there are too few looks.
    package var growth: Int? {
        guard isLongEnough else { return nil }
        return Self.level(warm.suffix(Self.looksForLevel)) - Self.level(warm.prefix(Self.looksForLevel))
    }

    private var isLongEnough: Bool { warm.count >= 2 * Self.looksForLevel }

    /// Bytes a minute, by least squares over the looks after the warm-up.
    package var slope: Double? {
        guard isLongEnough else { return nil }
        let count = Double(warm.count)
        let time = warm.reduce(0) { $0 + $1.seconds } / count
        let level = warm.reduce(0) { $0 + Double($1.residentBytes) } / count
        let product = warm.reduce(0) { $0 + ($1.seconds - time) * (Double($1.residentBytes) - level) }
        let square = warm.reduce(0) { $0 + ($1.seconds - time) * ($1.seconds - time) }
        return square > 0 ? 60 * product / square : nil
    }

    /// Whether it has grown by more than the tolerance. A run that is too short to show it has not.
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
