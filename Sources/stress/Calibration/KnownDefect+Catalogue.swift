// SPDX-License-Identifier: Apache-2.0

extension KnownDefect {
    /// The defects whose repair can be undone: nine of this project, and twelve that others have
    /// published.
    static let all: [KnownDefect] = own + published

    private static let loadsInOrder = "x86-64 keeps these accesses in order, and so does the explorer"

    private init(
        _ name: String,
        _ origin: Origin,
        _ summary: String,
        seeded: Statement,
        models: Statement,
        litmus: Statement = .none(because: "no ordering was missing"),
        tests: Statement = .none(because: "no unit test takes this repair back")
    ) {
        (self.name, self.origin, self.summary) = (name, origin, summary)
        (self.seeded, self.models, self.litmus, self.tests) = (seeded, models, litmus, tests)
    }

    private static let own: [KnownDefect] = [
        KnownDefect(
            "a registration overtakes a body",
            .own(commit: "148a27d"),
            "The modifier was loaded relaxed under another lock than the version's; the version could be older.",
            seeded: .none(because: loadsInOrder),
            models: ["a body is looked at without acquire"],
            litmus: [
                "a registration beside a body of modify loads `modifier` relaxed",
                "a cut beside a body of modify loads `modifier` relaxed",
            ]
        ),
        KnownDefect(
            "the last look overtakes parking",
            .own(commit: "148a27d"),
            "The reclamation thread could read the list of records before it said that it parks.",
            seeded: .none(because: loadsInOrder),
            models: ["the list of records is read before parking"],
            litmus: ["the reclamation thread loads the list of records with acquire before it parks"]
        ),
        KnownDefect(
            "an observer's home is loaded twice",
            .own(commit: "bd9e401"),
            "Between two loads a word changed its meaning: the address of the extras was taken for the core's.",
            seeded: ["a core is loaded in two steps"],
            models: .none(because: "the models have no layout of observers")
        ),
        KnownDefect(
            "a thread exits inside a callback",
            .own(commit: "5c9e85c"),
            "The next thread took over its record, and with it the frames in use.",
            seeded: ["a thread that exits inside a callback is not noticed"],
            models: .none(because: "the models leave thread exit out")
        ),
        KnownDefect(
            "one source's destruction delays all",
            .own(commit: "d09cf86"),
            "Slow deinitialisers of one source stood in one queue before everything else.",
            seeded: ["one queue serves all sources"],
            models: .none(because: "the models have no time")
        ),
        KnownDefect(
            "a pair has two agreements",
            .own(commit: "6afca6e"),
            "Two properties that were bound from both sides could end with different values.",
            seeded: ["each binding of a pair agrees for itself"],
            models: .none(because: "the models leave bindings out")
        ),
        KnownDefect(
            "an echo comes round through a path",
            .own(commit: "5a43895"),
            "In a cycle of bindings through a path, a change that came back undid what another thread had set.",
            seeded: ["an echo through a path is taken for news"],
            models: .none(because: "the models leave bindings out")
        ),
        KnownDefect(
            "an iterator returns a removed change",
            .own(commit: "e161629"),
            "After a removal an iterator still returned the changes that it had taken before.",
            seeded: ["an iterator returns a removed change"],
            models: .none(because: "the models leave sequences out")
        ),
        KnownDefect(
            "the end's mark is stored relaxed",
            .own(commit: "bb11d11"),
            "A thread that saw the end could miss what came before it.",
            seeded: .none(because: loadsInOrder),
            models: .none(because: "stores of a canceller are never late in the models"),
            litmus: ["the mark of an ended observation is stored relaxed"]
        ),
    ]

    private static let published: [KnownDefect] = [
        KnownDefect(
            "a sleeper does not say that it sleeps",
            .published(project: "liburcu", reference: "c768e45ed336"),
            "The worker of call_rcu slept without announcing it, and was not woken.",
            seeded: ["the reclamation thread's wake-up is lost"],
            models: ["the reclamation thread's wake-up is lost"]
        ),
        KnownDefect(
            "a waker looks too early",
            .published(project: "Linux", reference: "8ee1b7b9d876"),
            "blk-mq looked for waiters without a full barrier behind its change.",
            seeded: .none(because: "our change is a locked instruction on x86-64, which is a full barrier"),
            models: ["push is not sequentially consistent", "parking is not sequentially consistent"],
            litmus: ["a retiring thread looks for a sleeper before its item can be seen"]
        ),
        KnownDefect(
            "readers announce themselves where nothing looks",
            .published(project: "liburcu", reference: "95b94246b745"),
            "The registry of urcu-bp could move, and readers went on in the old place.",
            seeded: ["the innermost frame is not scanned"],
            models: ["grace period misses one thread"]
        ),
        KnownDefect(
            "a grace period ends too early",
            .published(project: "liburcu", reference: "794a737edb08"),
            "The parity flipped while it was still waited for.",
            seeded: ["grace period does nothing"],
            models: ["grace period does nothing"]
        ),
        KnownDefect(
            "a published pointer is loaded plainly",
            .published(project: "liburcu", reference: "0f9515c5671f"),
            "rcu_dereference_sym loaded the pointer without an ordering.",
            seeded: .none(because: loadsInOrder),
            models: .none(because: "loads are never early in the models of the walk"),
            litmus: ["a walker loads the table with nothing that orders its entries"]
        ),
        KnownDefect(
            "a commit is stored before its data",
            .published(project: "Linux", reference: "facd885c7506"),
            "tty_buffer.commit was stored plainly; the reader could miss the data.",
            seeded: ["relaxed publish"],
            models: ["append publishes the count first"],
            litmus: ["the count is stored relaxed behind its entry"]
        ),
        KnownDefect(
            "membarrier skips a thread",
            .published(project: "Linux", reference: "5bc78502322a"),
            "An exiting thread released its memory map before a barrier, and was not interrupted.",
            seeded: ["no barrier before the scan"],
            models: ["no barrier before the scan", "grace period ends without a barrier"],
            litmus: ["membarrier skips the walker's thread"]
        ),
        KnownDefect(
            "the second look is not ordered behind the announcement",
            .published(project: "arc-swap", reference: "issue 198"),
            "A reader's debt could be unseen while its second look still found the old pointer.",
            seeded: ["mark is tested before current is stored"],
            models: ["the light barrier is missing"],
            litmus: ["no fence stands between the hazard pointer and the second look"]
        ),
        KnownDefect(
            "a sequence is loaded twice",
            .published(project: "Linux", reference: "2f6242786266"),
            "A reader of a seqcount could test one load of the sequence and go on with another.",
            seeded: ["a read is torn"],
            models: .none(because: "the models leave values and the latch out")
        ),
        KnownDefect(
            "the queue is found empty, then left",
            .published(project: "RxJava", reference: "change 1012"),
            "SerializedObserver found its queue empty and left its drain loop in two steps.",
            seeded: ["a delivery parks outside the lock"],
            models: ["a delivery parks outside the lock", "the drain loop is left in two steps"]
        ),
        KnownDefect(
            "a value between two others is missed",
            .published(project: "RxJava", reference: "issue 1184"),
            "A subscriber of BehaviorSubject could miss what was sent while it subscribed.",
            seeded: ["a change between initial and registration is missed"],
            models: .none(because: "the model of registration is about bodies of modify")
        ),
        KnownDefect(
            "an entry is freed under the emission",
            .published(project: "nano-signal-slot", reference: "issue 7"),
            "A disconnected slot was freed while the emission stood on it.",
            seeded: ["pins are not scanned"],
            models: ["pins are not scanned"]
        ),
    ]
}
