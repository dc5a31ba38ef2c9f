// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// The roots of paths die on any thread. At the same time their steps are replaced, their ends
    /// change, and tokens are cancelled.
    static let pathDeath = Scenario(
        name: "path-death",
        summary: "the last reference to a path's root goes while its steps are replaced and its end changes",
        invariants: [
            "P1.received-before-the-end", "P12.path-end-last", "P12.end-once", "P12.reason", "P9.silent-path",
            "P5.no-lock-around-user-code",
        ] + checkedAtRest,
        windows: [
            "died with observers", "cancelled before the end", "an end outlived its root",
            "waited for a path's callbacks",
        ],
        leastThreads: 3
    ) { round in
        let ends = (1...3).map { PathEnd(UInt64($0)) }
        let slots = (0..<3).map { _ in Place<PathSource>() }
        let records = (0..<round.threads).map { _ in Guarded<[PathRecord]>([]) }

        round.load { worker in
            let slot = slots[worker.generator.below(slots.count)]
            let end = ends[worker.generator.below(ends.count)]
            switch worker.generator.below(12) {
            case 0:
                worker.begin("make a root")
                let source = PathSource(PathRoot(end))
                let made = source.observe(times: 1 + worker.generator.below(4))
                records[worker.index].withLock { $0 += made.map(\.record) }
                _ = slot.exchange(source)
            case 2:
                worker.begin("wait for callbacks")
                guard let path = slot.content?.paths.randomElement(using: &worker.generator) else { break }
                if path.token.cancelAndWaitBlocking() == .finished { worker.hit(3) }
                path.record.silence()
            case 1:
                worker.begin("drop a root")
                if slot.exchange(nil) != nil { worker.hit(0) }
            case 3:
                worker.begin("cancel")
                slot.content?.paths.randomElement(using: &worker.generator)?.token.cancel()
                worker.hit(1)
            case 4:
                worker.begin("replace a step")
                slot.content?.root.middle.value = PathMiddle(end)
            case 5:
                worker.begin("lead elsewhere")
                slot.content?.root.middle.value.end.value = worker.generator.oneIn(3) ? nil : end
            default:
                worker.begin("change an end")
                if slot.content == nil { worker.hit(2) }
                end.number.value = worker.uniqueSerial()
            }
        }

        for slot in slots { _ = slot.exchange(nil) }
        round.checkRest()
        for record in records.flatMap({ $0.withLock { $0 } }) { record.check(round) }
    }
}

/// A root, and the tokens of observations of a path that begins there.
private final class PathSource: Sendable {
    let root: PathRoot
    private let kept = Guarded<[(record: PathRecord, token: ObservationToken)]>([])

    init(_ root: PathRoot) { self.root = root }

    var paths: [(record: PathRecord, token: ObservationToken)] { kept.withLock { $0 } }

    func observe(times: Int) -> [(record: PathRecord, token: ObservationToken)] {
        let options: [ObservationOptions] = [[], [], .prior]
        let made = (0..<times).map { number in
            let record = PathRecord()
            let token = root.observe(\.middle.end.number, options: options[number % 3]) { change in
                checkUserCode("callback")
                record.note(change)
            }
            record.end.listen(to: token)
            return (record, token)
        }
        kept.withLock { $0 = made }
        return made
    }
}

/// Counts the changes of the path's last property that an observer has received.
private final class PathRecord: Sendable {
    let end = EndRecord()
    private let received = Tally()
    private let highest = Atomic<UInt64>(0)
    private let isSilent = Atomic<Bool>(false)
    /// Counts the changes received after `silence()`.
    private let late = Tally()

    /// Records that no callback is running, and that none may begin.
    func silence() { isSilent.store(true, ordering: .releasing) }

    func note<Value>(_ change: Change<Value>) {
        if isSilent.load(ordering: .acquiring) { late.increment() }
        end.noteCall()
        guard change.reason != .prior else { return }
        received.increment()
        highest.max(change.version, ordering: .relaxed)
    }

    /// Checks at rest that the observation ended once. If the root's death ended it, the observer
    /// must have received every version up to its last one before.
    func check(_ round: Round) {
        guard round.violations.isEmpty else { return }
        if end.check(round, endLast: "P12.path-end-last") == .sourceDeleted {
            let highest = highest.load(ordering: .relaxed)
            round.check("the number of changes received", received.value, is: highest, "P1.received-before-the-end")
        }
        round.check("the number of calls after cancelAndWait", late.value, is: 0, "P9.silent-path")
    }
}
