// SPDX-License-Identifier: Apache-2.0

// What goes wrong in these is a choice of the schedule: a thread forks, exits, or is not to be had.
extension LibraryProgram {
    /// The child counts what the parent's threads were retiring, and restarts the library's threads. (P18)
    static let forkCancel = LibraryProgram(
        name: "fork-cancel",
        summary: "a fork, after which five threads may be refused in the child, against a cancellation",
        threads: [["cancel X"], ["fork"]],
        allowsFaults: true,
        mostPreemptions: 1
    ) { backend in
        let world = World(backend)
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X")) },
            threads: [
                [{ world.cancel(observation.content) }],
                [{ backend.fork() }],
            ],
            rest: world.rest,
            inChild: world.inChild
        )
    }

    /// No thread of the child is the one that was changing the property. (P18)
    static let forkModify = LibraryProgram(
        name: "fork-modify",
        summary: "a fork against a modify: the child observes the property",
        threads: [["modify"], ["fork"]],
        allowsFaults: true,
        mostPreemptions: 1
    ) { backend in
        let property = Observed<UInt64>(0)
        // From the end of the body to the return, the change is being published: a child cannot register then. (P18)
        let isPublishing = Guarded(false)
        return Program.Instance(
            threads: [
                [
                    {
                        property.modify { value in
                            backend.userStep("in the body")
                            value += 1
                            isPublishing.withLock { $0 = true }
                        }
                        isPublishing.withLock { $0 = false }
                    }
                ],
                [{ backend.fork(isPublishing.withLock { $0 } ? nil : property) }],
            ]
        )
    }

    /// Threads are refused, and can be had later. (P9, P14)
    static let refusedCancel = LibraryProgram(
        name: "refused-cancel",
        summary: "cancel against cancelAndWait of the same observation, while the library may be refused threads",
        threads: [["cancel X"], ["cancelAndWait X"]],
        allowsFaults: true,
        mostPreemptions: 2
    ) { backend in
        let world = World(backend)
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X")) },
            threads: [
                [{ world.cancel(observation.content) }],
                [{ world.cancelAndWait(observation.content) }],
            ],
            rest: world.rest,
            inChild: world.inChild
        )
    }

    /// The next thread that gets the record of one that exited in a callback is inside none. (P17)
    static let exitNotify = LibraryProgram(
        name: "exit-notify",
        summary: "a thread may exit in a callback, and the next gets its record, against cancelAndWait of the observer",
        threads: [["notify"], ["cancelAndWait X"]],
        allowsFaults: true,
        mostPreemptions: 2
    ) { backend in
        let world = World(backend)
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: {
                observation.fill(world.observe(source, "X") { _ in ScheduledThread.current.map(backend.mayExit) })
            },
            threads: [
                [{ world.notify(source) }],
                [{ world.cancelAndWait(observation.content) }],
            ],
            rest: world.rest,
            inChild: world.inChild
        )
    }
}

extension LibraryBackend {
    /// Forks where the calling thread stands, and fails as the child does.
    fileprivate func fork(_ caught: @autoclosure () -> Observed<UInt64>? = nil) {
        let refusals = refusesThread() ? 5 : 0
        guard let (invariant, message) = ForkedChild.run(refusing: refusals, caught()) else { return }
        scheduler.fail(invariant, "\(message); \(refusals) threads were refused")
    }
}
