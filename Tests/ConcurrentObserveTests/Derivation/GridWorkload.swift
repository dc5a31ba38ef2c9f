// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A grid of milomg/js-reactivity-benchmark. Each node of a layer sums some nodes of the layer
/// above. The first layer consists of properties.
struct Grid: Sendable, CustomStringConvertible {
    /// The number of nodes that a node sums, of nodes in a layer, and of layers, including the
    /// properties'.
    let (sources, width, layers): (Int, Int, Int)
    /// The share of the nodes that skip one of their summands if the first one is odd.
    let dynamic: Double
    /// The share of the last layer that is not read.
    let unread: Double
    let writes: Int
    /// The published results for this number of writes: the sum of the values read, and the number
    /// of functions that have run.
    let (sum, evaluations): (Double, Int)

    static let all = [
        Grid(2, 10, 5, 0, 0.8, 600_000, 19_199_968, 3_480_000),
        Grid(6, 10, 10, 0.25, 0.8, 15_000, 302_310_782_860, 1_155_000),
        Grid(4, 1_000, 12, 0.05, 0, 7_000, 29_355_933_696_000, 1_463_000),
        Grid(25, 1_000, 5, 0, 0, 3_000, 1_171_484_375_000, 732_000),
        Grid(3, 5, 500, 0, 0, 500, 3.0239642676898464e241, 1_246_500),
        Grid(6, 100, 15, 0.5, 0, 2_000, 15_664_996_402_790_400, 1_078_000),
    ]

    private init(
        _ n: Int,
        _ w: Int,
        _ l: Int,
        _ dynamic: Double,
        _ unread: Double,
        _ writes: Int,
        _ sum: Double,
        _ evaluations: Int
    ) {
        (sources, width, layers, self.dynamic, self.unread) = (n, w, l, dynamic, unread)
        (self.writes, self.sum, self.evaluations) = (writes, sum, evaluations)
    }

    var description: String { "\(sources)-\(width)×\(layers)" }

    /// Says which nodes are dynamic, by layer, and which nodes of the last layer are read.
    var shape: (dynamic: [[Bool]], read: [Int]) {
        var random = SmallFastCounter(seed: "seed")
        let kinds = (1..<layers).map { _ in (0..<width).map { _ in !(random.next() < 1 - dynamic) } }
        random = SmallFastCounter(seed: "seed")
        var read = Array(0..<width)
        for _ in 0..<Int((Double(width) * unread).rounded()) {
            read.remove(at: Int(random.next() * Double(read.count)))
        }
        return (kinds, read)
    }

    /// Returns the sum of a node.
    static func node(isDynamic: Bool, _ count: Int, _ read: (Int) -> Double) -> Double {
        var sum = read(0)
        let skipped =
            isDynamic && sum.truncatingRemainder(dividingBy: 2) == 1
            ? Int(sum.truncatingRemainder(dividingBy: Double(count - 1))) : -1
        for index in 1..<count where index - 1 != skipped { sum += read(index) }
        return sum
    }

    /// Runs the workload. It begins with even values and writes only even values, so nothing is
    /// skipped. It runs twice, like the benchmark, which warms up first. Here the first run has
    /// other values, so each counted write is a change. Returns the sum of the values read, and the
    /// number of functions that ran the second time.
    func run(writes: Int) -> (sum: Double, evaluations: Int) {
        let count = Counter()
        let (kinds, readIndices) = shape
        let properties = (0..<width).map { Observed(Double(2 * $0)) }
        var above: [Derived<Double>] = []
        for kind in kinds {
            let row = above
            above = (0..<width).map { index in
                let (n, isDynamic) = (sources, kind[index])
                let places = (0..<n).map { (index + $0) % width }
                if row.isEmpty {
                    let members = places.map { properties[$0] }
                    return Derived { get in
                        count.increment()
                        return Self.node(isDynamic: isDynamic, n) { get(members[$0]) }
                    }
                }
                let members = places.map { row[$0] }
                return Derived { get in
                    count.increment()
                    return Self.node(isDynamic: isDynamic, n) { get(members[$0]) }
                }
            }
        }
        let leaves = readIndices.map { above[$0] }
        let tokens = leaves.map { $0.observe { _ in } }
        func round(_ offset: Int) -> Double {
            for step in 0..<writes {
                properties[step % width].value = Double(step + step % width + offset)
                for leaf in leaves { _ = leaf.value }
            }
            return leaves.reduce(0) { $0 + $1.value }
        }
        _ = round(2)
        let before = count.value
        let sum = round(0)
        for token in tokens { token.cancel() }
        return (sum, count.value - before)
    }

    /// Returns the sum that a recomputation of everything gives after this number of writes.
    func expectedSum(writes: Int) -> Double {
        let (kinds, read) = shape
        var row = (0..<width).map { Double(2 * $0) }
        for step in 0..<writes { row[step % width] = Double(step + step % width) }
        for kind in kinds {
            row = (0..<width).map { index in
                Self.node(isDynamic: kind[index], sources) { [row] in row[(index + $0) % width] }
            }
        }
        return read.reduce(0) { $0 + row[$1] }
    }

    /// Returns the number of functions that run for this number of writes, if each write changes
    /// its property, and no sum is odd. These are the nodes between the property and a node that is
    /// read.
    func expectedEvaluations(writes: Int) -> Int {
        let read = shape.read
        var needed: [Set<Int>] = [Set(read)]
        for _ in 2..<layers { needed.append(Set(needed.last!.flatMap { i in (0..<sources).map { (i + $0) % width } })) }
        var count = 0
        for step in 0..<writes {
            var changed: Set<Int> = [step % width]
            for layer in needed.reversed() {
                changed = Set(changed.flatMap { i in (0..<sources).map { (i - $0 + width) % width } })
                changed.formIntersection(layer)
                count += changed.count
            }
        }
        return count
    }
}

/// The random numbers of Chris Doty-Humphrey's generator with this name, seeded by a hash of a
/// text. The benchmark makes its graphs with them.
struct SmallFastCounter {
    private var (a, b, c, d): (UInt32, UInt32, UInt32, UInt32)

    init(seed: String) {
        var h: UInt32 = 2_166_136_261
        for unit in seed.utf16 {
            var k = UInt32(unit) &* 3_432_918_353
            k = k << 15 | k >> 17
            h ^= k &* 461_845_907
            h = h << 13 | h >> 19
            h = h &* 5 &+ 3_864_292_196
        }
        h ^= UInt32(seed.utf16.count)
        func next() -> UInt32 {
            h ^= h >> 16
            h = h &* 2_246_822_507
            h ^= h >> 13
            h = h &* 3_266_489_909
            h ^= h >> 16
            return h
        }
        (a, b, c, d) = (next(), next(), next(), next())
    }

    /// Returns a number from 0, and less than 1.
    mutating func next() -> Double {
        var t = a &+ b
        a = b ^ b >> 9
        b = c &+ c << 3
        c = c << 21 | c >> 11
        d = d &+ 1
        t = t &+ d
        c = c &+ t
        return Double(t) / 4_294_967_296
    }
}
