// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import Testing

@Suite("Whether contents are current, by what probes find", .timeLimit(.minutes(1)))
struct LagMachineTests {
    private let start = ContinuousClock.now
    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
    private func found(_ revision: Int64, _ seconds: Int) -> SynchronisationTarget {
        SynchronisationTarget(revision: revision, instant: at(seconds))
    }
    private func machine(at position: Int64) -> LagMachine {
        LagMachine(limit: .seconds(5), position: position, at: start)
    }

    @Test("A position that has what a probe found confirms the probe's instant")
    func current() {
        var machine = machine(at: 10)
        #expect(machine.found(found(10, 1), position: 10) == at(1))
        #expect(machine.found(found(12, 3), position: 14) == at(3))
        #expect(machine.revisions == 0 && machine.deadline == nil)
    }

    @Test("A position that is behind confirms nothing, until it has what the oldest unanswered probe found")
    func behind() {
        var machine = machine(at: 10)
        #expect(machine.found(found(12, 1), position: 10) == nil)
        #expect(machine.found(found(20, 3), position: 10) == nil)
        #expect(machine.revisions == 10)
        #expect(machine.deadline == at(6))
        #expect(machine.found(found(22, 5), position: 13) == at(1))
        #expect(machine.revisions == 9)
        // The next target is the probe that has just come.
        #expect(machine.deadline == at(10))
        #expect(machine.found(found(30, 7), position: 30) == at(7))
        #expect(machine.deadline == nil)
    }

    @Test("A position that does not move for the limit is stalled; one that moves is only behind")
    func stalled() {
        var machine = machine(at: 10)
        _ = machine.found(found(12, 1), position: 10)
        #expect(!machine.isOverdue(at: at(5)) && !machine.isStalled(at: at(5)))
        #expect(machine.looked(found(12, 6), isCurrent: false, position: 10) == nil)
        #expect(machine.isOverdue(at: at(6)) && machine.isStalled(at: at(6)))
        var moving = self.machine(at: 10)
        _ = moving.found(found(100, 1), position: 10)
        _ = moving.looked(found(100, 6), isCurrent: false, position: 50)
        #expect(moving.isOverdue(at: at(6)) && !moving.isStalled(at: at(10)))
        #expect(moving.isStalled(at: at(11)))
    }

    @Test("Keys that are the same although the revision is not: current, and no longer stalled")
    func others() {
        var machine = machine(at: 10)
        _ = machine.found(found(12, 1), position: 10)
        #expect(machine.looked(found(15, 6), isCurrent: true, position: 10) == at(6))
        #expect(machine.revisions == 0 && machine.deadline == nil && !machine.isStalled(at: at(10)))
        _ = machine.found(found(17, 8), position: 10)
        #expect(machine.deadline == at(13) && !machine.isStalled(at: at(12)))
    }

    @Test("A list that took longer than the limit does not make its own watch count as stalled")
    func longList() {
        var machine = LagMachine(limit: .seconds(5), position: 10, at: at(90))
        #expect(machine.found(found(10, 0), position: 10) == at(0))
        #expect(machine.looked(found(50, 90), isCurrent: false, position: 10) == nil)
        #expect(!machine.isStalled(at: at(91)))
    }
}
#endif
