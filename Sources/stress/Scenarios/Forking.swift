// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// The process forks repeatedly while its threads use the library. Each child reads. Some
    /// children then call an operation that must trap in a child.
    static let forking = Scenario(
        name: "forking",
        summary:
            "the process forks while its threads notify, register, modify, start and exit: a child may read, all else traps",
        invariants: ["P18.child-reads", "P18.child-traps", "P5.no-lock-around-user-code", "memory.table-in-use"]
            + checkedAtRest,
        windows: [
            "forked while a callback ran", "forked while another registered", "forked while another modified",
            "forked while a thread attached",
        ],
        leastThreads: 5
    ) { round in
        let (registry, values, activities) = (ObserverRegistry<UInt64>(), ReadableValues(), Activities())
        let standing = registry.observe { _ in
            checkUserCode("callback")
            activities.during(.callback) { spin(nanoseconds: 20_000) }
        }

        round.load([
            Round.Role(threads: 1) { worker in
                worker.begin("fork")
                let misuses = Child.Misuse.allCases
                let child = Child(
                    values: values,
                    standing: standing,
                    token: Guarded(registry.observe { _ in }),
                    misuse: worker.generator.oneIn(2) ? nil : misuses[worker.generator.below(misuses.count)]
                )
                activities.hitWindows(of: worker)
                if worker.generator.oneIn(2) {
                    child.forkAndCheck(worker)
                } else {
                    // This thread has not used the library before. It does so for the first time in
                    // the child.
                    concurrently(1) { _ in child.forkAndCheck(worker) }
                }
            },
            Round.Role(threads: 1) { worker in
                worker.begin("modify")
                values.modify { activities.during(.body) { spin(nanoseconds: 50_000) } }
            },
            Round.Role(threads: 1) { worker in
                worker.begin("observe")
                let subject = activities.during(.registration) { worker.observe(registry) }
                worker.pass(registry, watching: subject.probe)
                worker.cancelAndWait(subject)
            },
            Round.Role(threads: 1) { worker in
                worker.begin("thread")
                concurrently(1) { _ in _ = activities.during(.attachment) { values.areRight } }
            },
            Round.Role(threads: round.threads - 4) { worker in
                worker.begin("set")
                values.set(worker.generator.next())
                registry.notify(0)
            },
        ])

        standing.cancelAndWaitBlocking()
        round.checkRest()
    }
}

/// Counts the activities during which a fork happens, as hints for the windows.
private final class Activities: Sendable {
    /// The activities, in the order of the windows.
    enum Activity: Int, CaseIterable { case callback, registration, body, attachment }

    private let running = Activity.allCases.map { _ in Tally() }

    func during<Result>(_ activity: Activity, _ body: () -> Result) -> Result {
        running[activity.rawValue] += 1
        defer { running[activity.rawValue] -= 1 }
        return body()
    }

    func hitWindows(of worker: Worker) {
        for (window, count) in running.enumerated() where count.value > 0 { worker.hit(window) }
    }
}

/// Forks a child, and checks how it ends.
private struct Child: Sendable {
    /// A use of the library that traps in a child.
    enum Misuse: CaseIterable { case set, observe, cancel }

    let values: ReadableValues
    let standing: ObservationToken
    /// The only reference to a token. The child releases its copy; the observation goes on in the
    /// parent.
    let token: Guarded<ObservationToken?>
    /// The misuse with which the child ends; nil if the child only reads.
    let misuse: Misuse?

    func forkAndCheck(_ worker: Worker) {
        let end = ChildProcess.fork {
            token.withLock { $0 = nil }
            guard values.areRight else { return false }
            if let misuse { misbehave(misuse) }
            return true
        }
        if let misuse {
            worker.check(end == .trapped, "P18.child-traps", "a child that may not \(misuse) has \(end)")
        } else {
            worker.check(end == .succeeded, "P18.child-reads", "a child that reads has \(end)")
        }
    }

    private func misbehave(_ misuse: Misuse) {
        ChildProcess.silence()
        switch misuse {
        case .set: values.set(1)
        case .observe: values.observe()
        case .cancel: standing.cancel()
        }
    }
}
