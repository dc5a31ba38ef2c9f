// SPDX-License-Identifier: Apache-2.0

extension Words {
    /// All forms of a word are listed.
    static let forbidden = [
        Rule("bury, buries, buried, burying, spoil, spoils, spoilt, spoiled", say: "tombstone, or drop"),
        Rule("let go of, lets go of, letting go of", say: "release, or retire"),
        Rule("give up, gives up, gave up, given up, giving up", say: "retire, or stop"),
        Rule("use again, uses again, used again", say: "recycle"),
        Rule("spares", say: "observer pool"),
        Rule("aftermath, errand, errands", say: "deferred actions, or a job of the deinit threads"),
        Rule("turn, turns", say: "drain loop, or step"),
        Rule("wire, wires, wired, wiring, wirings", say: "link"),
        Rule("rewire, rewires, rewired, rewiring, rewirings", say: "relink"),
        Rule("hop, hops, hopping, passage, passages", say: "propagation, or job"),
        Rule("tell, tells, told, telling", say: "notify, deliver, report"),
        Rule("hear, hears, heard, hearing, unheard", say: "receive"),
        Rule("overlook, overlooks, overlooked", say: "miss"),
        Rule("post, posts, posted, posting, poster, posters", say: "enqueue"),
        Rule("attend, attends, attended, attending", say: "wake, or drain"),
        Rule("reclaimer, reclaimers", say: "reclamation thread"),
        Rule("destroyer, destroyers", say: "deinit thread"),
        Rule("lane, lanes, epoch, epochs", say: "worker, or round"),
        Rule("core life, life lend, life give back, gives back, gave back", say: "biased reference count"),
        Rule("baton", say: "schedule"),
        Rule("whoever, nobody, somebody, that one", say: "who it is: the canceller, the caller, another thread"),
    ]

    /// The phrases, files and folders in which a forbidden word may occur, each with the reason.
    static let exceptions = [
        Exception(in: "Checks/Sources/checks/Words+Forbidden.swift", because: "this list"),
        Exception(in: "Checks/Tests/ChecksTests/WordsTests.swift", because: "plants forbidden words"),
        Exception("in turn", because: "one after the other"),
        Exception("that one thread", because: "a number"),
        Exception("that one source", because: "a number"),
        Exception("that one writer", because: "a number"),
        Exception("that one exchange", because: "a number"),
        Exception("sem_post", because: "POSIX's name"),
        Exception("center.post", in: "Benchmarks", because: "NotificationCenter's name"),
        Exception("visitPost", in: "Sources/ConcurrentObserveMacrosPlugin", because: "swift-syntax's name"),
        Exception("POST", in: "Examples/FlagServer", because: "HTTP's method"),
        Exception(".post", in: "Examples/FlagServer", because: "HTTP's method"),
        Exception("data-post", in: "Models/Litmus", because: "a published test's name"),
    ]
}
