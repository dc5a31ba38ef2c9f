// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs that only a sanitizer reports.
    static let underSanitizers: [Mutant] = [
        Mutant(.gracePeriodDoesNothing, "notification-storm", [.report(.address)], at: "walk.head", .seconds(60)),
        Mutant(.aSourcesEndForgetsItsObservers, "registry-death", [.report(.address)], .seconds(60)),
        // Not under ThreadSanitizer: the one thing that a walk reads is its table, and that memory
        // is another table's at once, whose makers synchronise with the walker.
        Mutant(
            .aValueIsReadAfterItsPin,
            "torn-reads",
            [.report(.address)],
            at: "read.pinned",
            .seconds(60)
        ),
        Mutant(.aNotificationAllocates, "realtime-path", [.report(.realtime)]),
        Mutant(.aNotificationTakesALock, "realtime-path", [.report(.realtime)]),
        Mutant(.relaxedPublish, "notification-storm", [.report(.thread)], isPerturbed: false, .seconds(60)),
    ]
}
