// SPDX-License-Identifier: Apache-2.0

/// Resident memory over a long run, at rest, each time that all scenarios have had a turn.
struct MemoryCourse: Codable, Sendable {
    /// The promise that it belongs to: what is retired is reclaimed, whatever the churn.
    static let invariant = "P16.memory-flat"
    /// How far the end may be from the warm level.
    static let tolerance = 4 << 20

    struct Point: Codable, Sendable {
        let seconds: Double
        let residentBytes: Int
    }

    /// Until then pools, arenas and caches still fill.
    let warmUpSeconds: Double
    private(set) var points: [Point] = []

    init(warmUpSeconds: Double = 60) { self.warmUpSeconds = warmUpSeconds }

    /// Looks at the process: what the allocator keeps for later is given back first.
    mutating func look(seconds: Double) {
        ResidentMemory.giveBack()
        add(Point(seconds: seconds, residentBytes: ResidentMemory.current))
    }

    mutating func add(_ point: Point) { points.append(point) }

    private var warm: [Point] { points.filter { $0.seconds >= warmUpSeconds } }

    /// From the warm level to the end, each the median of three looks; nil while there are too few.
    var growth: Int? {
        guard warm.count >= 6 else { return nil }
        return Self.median(warm.suffix(3)) - Self.median(warm.prefix(3))
    }

    /// Bytes a minute, by least squares over the looks after the warm-up.
    var slope: Double? {
        guard warm.count >= 6 else { return nil }
        let count = Double(warm.count)
        let time = warm.reduce(0) { $0 + $1.seconds } / count
        let level = warm.reduce(0) { $0 + Double($1.residentBytes) } / count
        let product = warm.reduce(0) { $0 + ($1.seconds - time) * (Double($1.residentBytes) - level) }
        let square = warm.reduce(0) { $0 + ($1.seconds - time) * ($1.seconds - time) }
        return square > 0 ? 60 * product / square : nil
    }

    /// Whether it has grown by more than the tolerance. A run that is too short to tell has not.
    var hasGrown: Bool { (growth ?? 0) > Self.tolerance }

    var text: String {
        guard let growth, let slope else {
            return "not judged: fewer than six rounds of all scenarios after the first \(Int(warmUpSeconds)) s"
        }
        return "\(hasGrown ? "NOT FLAT" : "flat"), \(Format.mebibytes(Double(growth))) from the warm level to the end, "
            + "\(Format.mebibytes(slope)) a minute (\(Self.invariant), at most \(Self.tolerance >> 20) MiB)"
    }

    private static func median(_ points: ArraySlice<Point>) -> Int {
        points.map(\.residentBytes).sorted()[points.count / 2]
    }
}
