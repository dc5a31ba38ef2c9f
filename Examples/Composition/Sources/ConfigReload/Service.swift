// SPDX-License-Identifier: Apache-2.0

#if Configuration
import ConcurrentObserve
import ConcurrentObserveConfiguration
import Configuration

/// The settings that must be seen together.
struct Settings: Sendable, Equatable {
    var workers = 1
    var timeout = 30

    init() {}

    init(_ snapshot: ConfigSnapshotReader) {
        workers = snapshot.int(forKey: "workers", default: workers)
        timeout = snapshot.int(forKey: "timeout", default: timeout)
    }
}

final class Service: Sendable {
    /// Only `run()` changes it.
    var settings: ReadOnly<Settings> { current.readOnly }
    /// Follows one key.
    let poolSize = Observed(1)

    private let current = Observed(Settings())
    private let config: ConfigReader

    init(_ config: ConfigReader) { self.config = config }

    /// Follows the configuration until the task is cancelled.
    func run() async throws {
        try await withThrowingTaskGroup { [config, poolSize, current] group in
            group.addTask { try await ConfigFollower(poolSize, key: "workers", in: config).follow() }
            // A snapshot, so that no reader sees the workers of one file with the timeout of
            // another.
            group.addTask {
                try await config.watchSnapshot { updates in
                    for await snapshot in updates {
                        let new = Settings(snapshot)
                        // Setting an equal value would be a change, too.
                        if new != current.value { current.value = new }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Serves a request from beginning to end with the same settings, without a lock and without
    /// waiting for a reload.
    func serve(during reload: () -> Void) -> String {
        current.withValue { settings in
            reload()
            return "served with timeout \(settings.timeout)"
        }
    }
}
#endif
