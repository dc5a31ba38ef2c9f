// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Logging
import Metrics
import ServiceLifecycle

/// Logs and counts every change while the service runs.
///
/// It logs on its own actor, so no request waits for the log. If the log is slower than the changes
/// for a long time, the oldest lines are left out.
struct ChangeLog: Service {
    let flags: FeatureFlags
    let logger: Logger
    let changes: Counter
    private let actor = ObservationActor(buffering: .droppingOldest(1_000))

    init(flags: FeatureFlags, logger: Logger, factory: any MetricsFactory) {
        self.flags = flags
        self.logger = logger
        changes = Counter(label: "flag_changes_total", factory: factory)
    }

    func run() async throws {
        var tokens: [ObservationToken] = []
        for name in Flag.Name.allCases {
            // Changes are counted on the thread that makes them, which costs very little, and
            // logged on the actor.
            tokens.append(flags[name].observe { _ in changes.increment() })
            tokens.append(
                flags[name].observe(delivery: .actor(actor)) { change in
                    log(change.new)
                }
            )
        }
        tokens.append(
            flags.checkoutOpen.observe(delivery: .actor(actor)) { change in
                log(change.new)
            }
        )
        try? await gracefulShutdown()
        // Lines that wait in a mailbox are logged first.
        for token in tokens {
            await token.flush()
            await token.cancelAndWait()
        }
        logger.info("logging ends", metadata: ["lines-left-out": "\(actor.deliveryCounts.dropped)"])
    }

    private func log(_ state: FlagState) {
        let flag = state.flag
        logger.info(
            "flag changed",
            metadata: [
                "flag": "\(state.name.rawValue)",
                "enabled": "\(flag.isEnabled)",
                "rollout": "\(flag.rollout)",
                "version": "\(state.version)",
            ]
        )
    }

    private func log(_ flag: DerivedFlag) {
        logger.info("derived flag changed", metadata: ["flag": "\(flag.name)", "enabled": "\(flag.isEnabled)"])
    }
}
