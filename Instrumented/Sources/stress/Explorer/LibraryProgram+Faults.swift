// SPDX-License-Identifier: Apache-2.0

// In these programs the schedule chooses what fails: a thread exits, or the system refuses one.
extension LibraryProgram {
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
            rest: world.rest
        )
    }

    /// A thread that exits in a callback ends the process. (P17)
    static let exitNotify = LibraryProgram(
        name: "exit-notify",
        summary: "a thread may exit in a callback, against cancelAndWait of the observer",
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
            rest: world.rest
        )
    }
}
