// SPDX-License-Identifier: Apache-2.0

extension Words {
    /// Every form of a word is written out.
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

    /// What may stay, and why.
    static let exceptions = [
        // --- Being renamed. When a folder has its new names, its entry goes. ---
        Exception(in: "Sources/ConcurrentObserve", suffix: ".swift", because: "being renamed"),
        Exception(in: "Sources/stress", because: "being renamed"),
        // --- Names of these two folders, quoted elsewhere. They go with the names. ---
        Exception("ObserverList.tell", in: "ARCHITECTURE.md", because: "a function"),
        Exception("Rewirings", in: "ARCHITECTURE.md", because: "a type"),
        Exception("Posting", in: "ARCHITECTURE.md", because: "a file"),
        Exception("ThreadRecord+Passage", in: "Checks/Sources", because: "a file"),
        Exception("CoreLife", because: "a type"),
        Exception("posting.enqueue", in: "Models/Litmus", because: "a line of the library"),
        Exception("path.turn", because: "an injection point"),
        Exception("path.rewire", in: "Models", because: "an injection point"),
        Exception("mailbox.posting", in: "Models", because: "an injection point"),
        Exception("mailbox.attended", in: "Models", because: "an injection point"),
        Exception("mailbox.hop", in: "Models", because: "an injection point"),
        Exception("reclaimer's wake-up is lost", because: "a seeded bug"),
        Exception("reclaimers wake up is lost", because: "a seeded bug, as an option"),
        Exception("reclaimers wakeup is lost", because: "a seeded bug, as a word of a schedule"),
        Exception("end is told twice", because: "a seeded bug"),
        Exception("end is told twicee", because: "a seeded bug, mistyped"),
        // ---
        Exception(in: "Checks/Sources/checks/Words+Forbidden.swift", because: "this list"),
        Exception(in: "Checks/Tests/ChecksTests/WordsTests.swift", because: "plants forbidden words"),
        Exception("in turn", because: "one after the other"),
        Exception("center.post", in: "Benchmarks", because: "NotificationCenter's name"),
        Exception("visitPost", in: "Sources/ConcurrentObserveMacrosPlugin", because: "swift-syntax's name"),
        Exception("data-post", in: "Models/Litmus", because: "a published test's name"),
    ]
}
