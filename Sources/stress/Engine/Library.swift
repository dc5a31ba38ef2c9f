// SPDX-License-Identifier: Apache-2.0

import CPlatform
@_exported import ExplorerKit
@_exported import StressKit

// One source for two commands. The package Instrumented builds it with its copy of the library.
// This package builds it with the library that users build.
#if INSTRUMENTED
@_exported import ConcurrentObserveInstrumented
#else
@_exported import ConcurrentObserve
#endif

/// Which build of the library this command runs.
enum LibraryBuild {
    #if INSTRUMENTED
    static let name = "instrumented"
    #else
    static let name = "product"
    #endif

    /// The facts about the library for `stress doctor` and for reports.
    static var facts: [MachineDescription.Fact] {
        let backend =
            usesLiburcu
            ? MachineDescription.loadedLibrary("liburcu-bp") ?? "liburcu, linked statically"
            : "hazard pointers, without liburcu"
        return [
            .init("backend", backend),
            .init("platform", cplatform_is_portable() ? "portable form" : "the system's own form"),
            .init(
                "membarrier",
                usesMembarrier ? "in use" : "missing: every observer costs its notification a full fence"
            ),
        ]
    }

    static var usesMembarrier: Bool { ConcurrentObserveDiagnostics.current().usesMembarrier }

    /// Whether read sections of liburcu protect the lists of observers; otherwise hazard pointers
    /// do.
    static var usesLiburcu: Bool {
        #if LibURCU && os(Linux)
        true
        #else
        false
        #endif
    }
}

extension RunHost {
    /// The parts that this command adds to the engine of StressKit.
    static var stress: RunHost {
        var host = RunHost { scenario, seed in
            "stress run \(scenario) --seed \(seed)"
        } perturbation: { plan in
            .ofLibrary(plan.perturbations, fixedPoint: plan.fixedPoint)
        }
        (host.build, host.facts) = (LibraryBuild.name, LibraryBuild.facts)
        host.gauges = {
            let library = ConcurrentObserveDiagnostics.current()
            return [
                Gauge("retired, not yet reclaimed", library.backlog),
                Gauge("grace periods a second", library.gracePeriods, isCount: true),
            ]
        }
        host.roundBegins = { ConcurrentObserveDiagnostics.current() }
        host.dump = { "\(ConcurrentObserveDiagnostics.current())" }
        host.faults = PerturbationKinds.singleFaults
        // Retired items are reclaimed, however many observations begin and end.
        host.memoryInvariant = "P16.memory-flat"
        return host
    }
}
