// SPDX-License-Identifier: Apache-2.0

/// The parts of the engine that a command adds for the library whose scenarios it runs.
package struct RunHost: Sendable {
    /// The name of the build under test in reports.
    package var build = "tests"
    /// Facts on which results depend, in addition to the machine.
    package var facts: [MachineDescription.Fact] = []
    /// Returns figures of the library, for the progress line and the course of a run.
    package var gauges: @Sendable () -> [Gauge] = { [] }
    /// Records the state before a round. The scenario compares it with the state at rest.
    package var roundBegins: @Sendable () -> (any Sendable)? = { nil }
    /// Returns a text of the library for the report of a hang. It may hang itself.
    package var dump: (@Sendable () -> String)?
    /// Returns the command that runs a scenario again with a seed.
    package var command: @Sendable (_ scenario: String, _ seed: UInt64) -> String
    package var perturbation: @Sendable (RunPlan) -> Perturbation
    /// The kinds of perturbation that belong to the host, with their names.
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
    /// Whether reports show the growth a second, and not the value.
    package let isCount: Bool

    package init(_ name: String, _ value: Int, isCount: Bool = false) {
        (self.name, self.value, self.isCount) = (name, Double(value), isCount)
    }
}

/// Reads the gauges of a host several times.
struct GaugeReader {
    private let host: RunHost
    private var last: (time: UInt64, gauges: [Gauge])

    init(_ host: RunHost) { (self.host, last) = (host, (nanoseconds(), host.gauges())) }

    /// Returns the value of each gauge. For a count, returns its growth a second since the last
    /// call.
    mutating func read() -> [(name: String, value: Double)] {
        let now = (time: nanoseconds(), gauges: host.gauges())
        defer { last = now }
        let seconds = max(1e-9, Double(now.time - last.time) / 1e9)
        return zip(now.gauges, last.gauges).map { ($0.name, $0.isCount ? ($0.value - $1.value) / seconds : $0.value) }
    }
}
