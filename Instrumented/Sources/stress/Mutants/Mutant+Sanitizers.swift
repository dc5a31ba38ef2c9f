// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs that only a sanitizer reports.
    static let underSanitizers: [Mutant] = [
        Mutant(.gracePeriodDoesNothing, "notification-storm", [.report(.address)], at: "walk.head", .seconds(60)),
        Mutant(.aSourcesEndForgetsItsObservers, "registry-death", [.report(.address)], .seconds(60)),
        // Not under ThreadSanitizer: a walk reads only its table, whose memory belongs to another
        // table at once, and the threads that make that table synchronise with the walk.
        Mutant(.aValueIsReadAfterItsPin, "torn-reads", [.report(.address)], at: "read.pinned", .seconds(60)),
        Mutant(.aNotificationAllocates, "realtime-path", [.report(.realtime)]),
        Mutant(.aNotificationTakesALock, "realtime-path", [.report(.realtime)]),
        Mutant(.relaxedPublish, "notification-storm", [.report(.thread)], isPerturbed: false, .seconds(60)),
    ]
}
