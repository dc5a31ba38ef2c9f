// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// The smallest race of all. (P9)
    static let waitNotify = inWorld(
        "wait-notify",
        "cancelAndWait against a notification and another cancelAndWait",
        [["notify"], ["cancelAndWait X"], ["cancelAndWait X"]]
    ) { world in
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X")) },
            threads: [
                [{ world.notify(source) }],
                [{ world.cancelAndWait(observation.content) }],
                [{ world.cancelAndWait(observation.content) }],
            ],
            rest: world.rest
        )
    }

    /// An observer begins, another goes on, a third ends. (P1, P8, P14)
    static let registerNotifyCancel = inWorld(
        "register-notify-cancel",
        "a registration and a notification of its own, against a notification, against a cancellation",
        [["observe Y", "notify"], ["notify"], ["cancel X"]]
    ) { world in
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X")) },
            threads: [
                [{ world.observe(source, "Y") }, { world.notify(source) }],
                [{ world.notify(source) }],
                [{ world.cancel(observation.content) }],
            ],
            rest: world.rest
        )
    }

    /// The cancellation that comes second ends nothing, and returns after the end all the same.
    /// (P8)
    static let cancelCancelNotify = inWorld(
        "cancel-cancel-notify",
        "a cancellation, against another of the same observation and a notification of its own",
        [["cancel X"], ["cancel X", "notify"]]
    ) { world in
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X")) },
            threads: [
                [{ world.cancel(observation.content) }],
                [{ world.cancel(observation.content) }, { world.notify(source) }],
            ],
            rest: world.rest
        )
    }

    /// The outer pass goes on after the inner one: its pin, its current observer. (P6, P9)
    static let waitNested = inWorld(
        "wait-nested",
        "cancelAndWait of an observer that notifies another registry when it is called",
        [["notify outer"], ["cancelAndWait X"]]
    ) { world in
        let outer = world.makeSource()
        let inner = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: {
                observation.fill(world.observe(outer, "X") { world in world.notify(inner) })
                world.observe(inner, "Y")
            },
            threads: [
                [{ world.notify(outer) }],
                [{ world.cancelAndWait(observation.content) }],
            ],
            rest: world.rest
        )
    }

    /// A callback that waited for the other would wait for ever. (P9)
    static let mutualCancel = inWorld(
        "mutual-cancel",
        "two callbacks that cancelAndWait each other",
        [["notify left"], ["notify right"]]
    ) { world in
        let left = world.makeSource()
        let right = world.makeSource()
        let first = Deferred<World.Observation>()
        let second = Deferred<World.Observation>()
        return Program.Instance(
            setUp: {
                first.fill(
                    world.observe(left, "X") { world in world.cancelAndWait(second.content, isInCallback: true) }
                )
                second.fill(
                    world.observe(right, "Y") { world in world.cancelAndWait(first.content, isInCallback: true) }
                )
            },
            threads: [
                [{ world.notify(left) }],
                [{ world.notify(right) }],
            ],
            rest: world.rest
        )
    }

    /// Most of the table's entries are tombstones: the next end makes the reclamation thread
    /// replace it. (P1, P14)
    static let appendCompactWalk = amongTheDead(
        "append-compact-walk",
        "a registration, against the cancellation after which the table is compacted, against a notification",
        dead: 7,
        live: "V",
        "W",
        "X"
    )

    /// A full table: the next registration copies it. (P1)
    static let growWalk = amongTheDead(
        "grow-walk",
        "the registration for which the table grows, against a cancellation, against a notification",
        dead: 6,
        live: "W",
        "X"
    )

    /// A registration, a cancellation and a notification meet in a table that holds so many dead
    /// entries, and then these observers.
    private static func amongTheDead(_ name: String, _ summary: String, dead count: Int, live: String...) -> Self {
        inWorld(name, summary, [["observe Z"], ["cancel X"], ["notify"]]) { world in
            let source = world.makeSource()
            let last = Deferred<World.Observation>()
            return Program.Instance(
                setUp: {
                    let dead = (1...count).map { world.observe(source, "dead \($0)") }
                    for name in live { last.fill(world.observe(source, name)) }
                    for dead in dead { world.cancel(dead) }
                },
                threads: [
                    [{ world.observe(source, "Z") }],
                    [{ world.cancel(last.content) }],
                    [{ world.notify(source) }],
                ],
                rest: world.rest
            )
        }
    }

    /// A listener that comes late is notified of the end, too, and once. (P12)
    static let cancelListen = inWorld(
        "cancel-listen",
        "a cancellation against a listener that registers for the end",
        [["cancel X"], ["listen to X"]]
    ) { world in
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X", listens: false)) },
            threads: [
                [{ world.cancel(observation.content) }],
                [{ world.listen(observation.content) }],
            ],
            rest: world.rest
        )
    }

    /// Whichever is first, the end is delivered once. (P12, P14)
    static let deathCancel = inWorld(
        "death-cancel",
        "the death of a registry against a cancellation and a notification",
        [["drop registry"], ["cancel X"], ["notify"]]
    ) { world in
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: {
                observation.fill(world.observe(source, "X"))
                world.observe(source, "Y")
            },
            threads: [
                [{ world.drop(source) }],
                [{ world.cancel(observation.content) }],
                [{ world.notify(source) }],
            ],
            rest: world.rest
        )
    }

    /// An item that is reclaimed was counted as retired before. (P16)
    static let cancelCount = inWorld(
        "cancel-count",
        "a cancellation against a drain that counts afterwards what waits",
        [["cancel X"], ["drain", "count"]]
    ) { world in
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X")) },
            threads: [
                [{ world.cancel(observation.content) }],
                [{ world.drain() }, { world.countBacklog() }],
            ],
            rest: world.rest
        )
    }

    private static func inWorld(
        _ name: String,
        _ summary: String,
        _ threads: [[StaticString]],
        _ make: @escaping @Sendable (World) -> Program.Instance
    ) -> LibraryProgram {
        LibraryProgram(name: name, summary: summary, threads: threads) { backend in make(World(backend)) }
    }
}
