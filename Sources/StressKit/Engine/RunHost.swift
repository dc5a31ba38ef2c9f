// SPDX-License-Identifier: Apache-2.0

/// The additions to the engine of a command that runs the scenarios of one library.
package struct RunHost: Sendable {
    /// The build under test, as reports name it.
    package var build = "tests"
    /// Facts besides the machine that its results depend on.
    package var facts: [MachineDescription.Fact] = []
    /// Figures of the library that the progress line and the course of a run show.
    package var gauges: @Sendable () -> [Gauge] = { [] }
    /// Makes a record of a round's begin, to be compared at rest.
    package var roundBegins: @Sendable () -> (any Sendable)? = { nil }
    /// The library's own words in the dump of a hang. It may never return.
    package var dump: (@Sendable () -> String)?
    /// How a scenario is run again with a seed.
    package var command: @Sendable (_ scenario: String, _ seed: UInt64) -> String
    package var perturbation: @Sendable (RunPlan) -> Perturbation
    /// The kinds of perturbation that are its own, with their names.
    package var faults: [(name: String, kind: PerturbationKinds)] = []
    /// The name of the invariant that resident memory stays level.
    package var memoryInvariant = "memory.level"
    /// Whether violations are printed as they happen.
    package var isQuiet = false

    package init(
        command: @escaping @Sendable (String, UInt64) -> String = { "\($0), seed \($1)" },
        perturbation: @escaping @Sendable (RunPlan) -> Perturbation = { Perturbation($0.perturbations) }
    ) {
        (self.command, self.perturbation) = (command, perturbation)
    }
}

/// A figure of the program under test.
package struct Gauge: Sendable {
    package let name: String
    package let value: Double
    /// Whether its growth a second is shown, not itself.
    package let isCount: Bool

    package init(_ name: String, _ value: Int, isCount: Bool = false) {
        (self.name, self.value, self.isCount) = (name, Double(value), isCount)
    }
}

/// Reads a host's gauges again and again.
struct GaugeReader {
    private let host: RunHost
    private var last: (time: UInt64, gauges: [Gauge])

    init(_ host: RunHost) { (self.host, last) = (host, (nanoseconds(), host.gauges())) }

    /// Each figure; a count is shown as its growth a second since the last call.
    mutating func read() -> [(name: String, value: Double)] {
        let now = (time: nanoseconds(), gauges: host.gauges())
        defer { last = now }
        let seconds = max(1e-9, Double(now.time - last.time) / 1e9)
        return zip(now.gauges, last.gauges).map { ($0.name, $0.isCount ? ($0.value - $1.value) / seconds : $0.value) }
    }
}
