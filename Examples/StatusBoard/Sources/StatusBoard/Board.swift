// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveCollections

enum Health: String, Codable, CaseIterable, Comparable {
    case up, degraded, down

    static func < (left: Health, right: Health) -> Bool {
        allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
}

/// The report of a service about itself.
struct Report: Codable, Equatable {
    var health: Health
    var note: String?
}

/// The present reports of all services, and all that follows from them.
///
/// A request reads and changes it on any thread, and waits for no other request.
final class Board: Sendable {
    /// The report of each service that has one, by the service's name.
    let reports = ObservedDictionary<String, Report>(label: "reports")
    /// Whether the board is under maintenance, as the configuration says. Then no failure counts.
    let isUnderMaintenance = Observed(false)
    /// The worst health of all services.
    let health: Derived<Health>
    /// The advice for the present health, which takes time to fetch.
    let advice: AsyncDerived<String>
    /// The load of the machine. It is measured only while a client watches it.
    let load: WhileObserved<Double>

    /// - Parameters:
    ///   - clock: Measures the pause between two measurements of the load.
    ///   - fetchAdvice: Fetches an advice, perhaps from another server.
    ///   - measureLoad: Returns the machine's load.
    init(
        clock: some Clock<Duration> = ContinuousClock(),
        fetchAdvice: @escaping @Sendable (Health) async throws -> String,
        measureLoad: @escaping @Sendable () -> Double
    ) {
        health = Derived(reports.contents, isUnderMaintenance) { reports, isUnderMaintenance in
            isUnderMaintenance ? .up : reports.map(\.value.health).max() ?? .up
        }
        advice = AsyncDerived(health.removingDuplicates(), fetchAdvice)
        load = WhileObserved(0, grace: .seconds(10), clock: clock) { load in
            repeat {
                load.value = measureLoad()
            } while (try? await clock.sleep(for: .seconds(1))) != nil
        }
    }

    /// The whole board at each change, as a client can take it: one that reads slowly receives
    /// several changes as one.
    var contents: ObservationSequence<PersistentDictionary<String, Report>> {
        reports.contents.values(options: .initial, buffering: .latest)
    }
}

/// The difference that brings the copy of the board that a client has up to date.
struct Update: Codable, Equatable {
    var reports: [String: Report] = [:]
    var removed: [String] = []

    init(from old: PersistentDictionary<String, Report>, to new: PersistentDictionary<String, Report>) {
        let difference = new.difference(from: old)
        for (name, report) in difference.inserted { reports[name] = report }
        for (name, _, report) in difference.updated { reports[name] = report }
        removed = difference.removed.map(\.key)
    }
}
