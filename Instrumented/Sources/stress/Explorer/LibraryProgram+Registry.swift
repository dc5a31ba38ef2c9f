// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// A thread waits for the end of an observation while another thread notifies: the smallest
    /// race. (P9)
    static let waitNotify = registry(
        "wait-notify",
        "cancelAndWait against a notification and another cancelAndWait",
        ["notify": { $0.notify() }],
        ["cancelAndWait X": { $0.cancelAndWait("X") }],
        ["cancelAndWait X": { $0.cancelAndWait("X") }]
    )

    /// While a thread notifies, one observation begins, one continues, and one ends. (P1, P8, P14)
    static let registerNotifyCancel = registry(
        "register-notify-cancel",
        "a registration and a notification of its own, against a notification, against a cancellation",
        ["observe Y": { $0.observe("Y") }, "notify": { $0.notify() }],
        ["notify": { $0.notify() }],
        ["cancel X": { $0.cancel("X") }]
    )

    /// Two threads cancel an observation. The second cancellation ends nothing, and also returns
    /// only after the end. (P8)
    static let cancelCancelNotify = registry(
        "cancel-cancel-notify",
        "a cancellation, against another of the same observation and a notification of its own",
        ["cancel X": { $0.cancel("X") }],
        ["cancel X": { $0.cancel("X") }, "notify": { $0.notify() }]
    )

    /// A notification inside another one: after the inner one, the pin and the current observer of
    /// the outer one are still set. (P6, P9)
    static let waitNested = registry(
        "wait-nested",
        "cancelAndWait of an observer that notifies another registry when it is called",
        setUp: { world in
            world.observe("X") { $0.notify(.second) }
            world.observe("Y", at: .second)
        },
        ["notify outer": { $0.notify() }],
        ["cancelAndWait X": { $0.cancelAndWait("X") }]
    )

    /// Two callbacks cancel each other. If one waited for the other, it would wait forever. (P9)
    static let mutualCancel = registry(
        "mutual-cancel",
        "two callbacks that cancelAndWait each other",
        setUp: { world in
            world.observe("X") { $0.cancelAndWait("Y", isInCallback: true) }
            world.observe("Y", at: .second) { $0.cancelAndWait("X", isInCallback: true) }
        },
        ["notify left": { $0.notify() }],
        ["notify right": { $0.notify(.second) }]
    )

    /// Most entries of the table are tombstones, and the next end makes the reclamation thread
    /// replace the table. (P1, P14)
    static let appendCompactWalk = amongTheDead(
        "append-compact-walk",
        "a registration, against the cancellation after which the table is compacted, against a notification",
        dead: 1...7,
        live: "V",
        "W",
        "X"
    )

    /// The table is full, and the next registration copies it. (P1)
    static let growWalk = amongTheDead(
        "grow-walk",
        "the registration for which the table grows, against a cancellation, against a notification",
        dead: 1...6,
        live: "W",
        "X"
    )

    /// Makes a program in which a registration, a cancellation and a notification meet. The table
    /// has this number of tombstones, followed by these observers.
    private static func amongTheDead(_ name: String, _ summary: String, dead: ClosedRange<Int>, live: String...) -> Self
    {
        registry(
            name,
            summary,
            setUp: { world in
                for number in dead { world.observe("dead \(number)") }
                for name in live { world.observe(name) }
                for number in dead { world.cancel("dead \(number)") }
            },
            ["observe Z": { $0.observe("Z") }],
            ["cancel X": { $0.cancel("X") }],
            ["notify": { $0.notify() }]
        )
    }

    /// A listener that is added late is notified of the end, too, and only once. (P12)
    static let cancelListen = registry(
        "cancel-listen",
        "a cancellation against a listener that registers for the end",
        setUp: { $0.observe("X", listens: false) },
        ["cancel X": { $0.cancel("X") }],
        ["listen to X": { $0.listen("X") }]
    )

    /// A registry dies while an observation is cancelled. Whichever comes first, the end is
    /// delivered once. (P12, P14)
    static let deathCancel = registry(
        "death-cancel",
        "the death of a registry against a cancellation and a notification",
        setUp: { world in for name in ["X", "Y"] { world.observe(name) } },
        ["drop registry": { $0.drop() }],
        ["cancel X": { $0.cancel("X") }],
        ["notify": { $0.notify() }]
    )

    /// A cancellation, and a drain after which the waiting items are counted. An item that is
    /// reclaimed was counted as retired before. (P16)
    static let cancelCount = registry(
        "cancel-count",
        "a cancellation against a drain that counts afterwards what waits",
        ["cancel X": { $0.cancel("X") }],
        ["drain": { $0.drain() }, "count": { $0.countBacklog() }]
    )
}

// In these programs the schedule chooses what fails: a thread exits, or the system refuses a
// thread.
extension LibraryProgram {
    /// The library is refused threads, and can have them later. (P9, P14)
    static let refusedCancel = registry(
        "refused-cancel",
        "cancel against cancelAndWait of the same observation, while the library may be refused threads",
        allowsFaults: true,
        ["cancel X": { $0.cancel("X") }],
        ["cancelAndWait X": { $0.cancelAndWait("X") }]
    )

    /// A thread that exits in a callback ends the process. (P17)
    static let exitNotify = registry(
        "exit-notify",
        "a thread may exit in a callback, against cancelAndWait of the observer",
        allowsFaults: true,
        setUp: { world in world.observe("X") { world in ScheduledThread.current.map(world.backend.mayExit) } },
        ["notify": { $0.notify() }],
        ["cancelAndWait X": { $0.cancelAndWait("X") }]
    )
}
