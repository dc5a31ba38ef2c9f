// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED

extension LibraryProgram {
    static let all: [LibraryProgram] = [cancelNotify]

    /// Uses everything once.
    static let warmUp = inWorld("warm-up", "", [["everything"]]) { world in
        Program.Instance(
            threads: [
                [
                    {
                        let source = world.makeSource()
                        let observation = world.observe(source, "X")
                        world.notify(source)
                        world.cancel(observation)
                    }
                ]
            ],
            rest: world.rest
        )
    }

    /// The smallest race of all.
    static let cancelNotify = inWorld(
        "cancel-notify",
        "cancelAndWait against a notification",
        [["notify"], ["cancelAndWait X"]]
    ) { world in
        let source = world.makeSource()
        let observation = Deferred<World.Observation>()
        return Program.Instance(
            setUp: { observation.fill(world.observe(source, "X")) },
            threads: [
                [{ world.notify(source) }],
                [{ world.cancelAndWait(observation.content) }],
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

/// What is made in a program's set-up.
final class Deferred<Content> {
    private(set) var content: Content!
    func fill(_ content: Content) { self.content = content }
}
#endif
