// SPDX-License-Identifier: Apache-2.0

/// A seeded bug that the explorer must find, and where: the races among them that sequential consistency can show.
struct ExplorerMutant: Sendable {
    /// As in `Mutant.all`.
    let name: String
    let program: String
    /// What must not hold.
    let invariants: [String]
    /// The faults that the search adds to the program.
    let faults: ExploredFaults

    private init(_ name: String, _ program: String, faults: ExploredFaults = [], _ invariants: String...) {
        (self.name, self.program, self.faults, self.invariants) = (name, program, faults, invariants)
    }

    static let all: [ExplorerMutant] = [
        // Registration
        ExplorerMutant("observe returns before publishing", "register-notify-cancel", "P1.exactly-once"),
        ExplorerMutant("append publishes the count first", "register-notify-cancel", "crash"),
        ExplorerMutant("compaction loses an entry", "append-compact-walk", "P1.exactly-once"),
        ExplorerMutant("a table is taken away before the next is there", "append-compact-walk", "P1.exactly-once"),
        // The end of one
        ExplorerMutant("mark is not tested", "wait-notify", "P14.not-while-called"),
        ExplorerMutant("mark is tested before current is stored", "wait-notify", "P14.not-while-called"),
        ExplorerMutant("current is cleared before the callback", "wait-notify", "P14.not-while-called"),
        ExplorerMutant("cancelAndWait does not wait", "wait-notify", "P14.not-while-called"),
        ExplorerMutant("current observers are not scanned", "register-notify-cancel", "P14.not-while-called"),
        ExplorerMutant("reclaim at once", "register-notify-cancel", "P14.not-while-called"),
        ExplorerMutant("outer frames are skipped", "wait-nested", "P14.not-while-called"),
        ExplorerMutant(
            "cancelAndWait in a callback waits",
            "mutual-cancel",
            "progress.deadlock",
            "P9.deferred-in-callback"
        ),
        // Tables
        ExplorerMutant("a replaced table keeps its word", "grow-walk", "P14.not-while-called"),
        ExplorerMutant("grace period does nothing", "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant("pins are not scanned", "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant("pin is stored after the read section", "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant("pin is cleared before the walk ends", "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant("inner pass clears the outer pin", "wait-nested", "memory.table-in-use"),
        // Destruction
        ExplorerMutant("closure is destroyed twice", "register-notify-cancel", "P14.destroyed-once"),
        ExplorerMutant("closure is destroyed under the lock", "register-notify-cancel", "P5.no-lock-around-user-code"),
        ExplorerMutant("reclaimer's wake-up is lost", "register-notify-cancel", "P14.destroyed-once"),
        ExplorerMutant("source death leaks the closures", "death-cancel", "P14.destroyed-once"),
        ExplorerMutant("token stays active after source death", "death-cancel", "P12.inactive", "crash"),
        ExplorerMutant("end is told twice", "death-cancel", "P12.end-once"),
        ExplorerMutant("a late listener is overlooked", "cancel-listen", "P12.end-once"),
        // Properties
        ExplorerMutant("a version is handed out outside the lock", "set-set-observe", "P1.every-change-once"),
        ExplorerMutant(
            "a change between initial and registration is missed",
            "set-set-observe",
            "P1.every-change-once"
        ),
        ExplorerMutant("an earlier change is delivered", "set-set-observe", "P4.nothing-between"),
        ExplorerMutant("a body does not wait for registrations", "modify-observe", "P1.every-change-once"),
        ExplorerMutant("a comparison is not repeated", "compare-exchange", "P2.no-lost-update"),
        ExplorerMutant("a read is torn", "torn-read", "P2.whole-value"),
        ExplorerMutant("a value is read after the read section", "read-set", "P14.not-while-read"),
        ExplorerMutant("grace period does nothing", "read-set", "P14.not-while-read"),
        ExplorerMutant("a lent value is not pinned", "lend-set", "P14.not-while-read"),
        ExplorerMutant("a value is destroyed by its writer", "lend-set", "P14.not-while-read"),
        ExplorerMutant("source death leaks the closures", "property-death-cancel", "P14.destroyed-once"),
        ExplorerMutant("end is told twice", "property-death-cancel", "P12.end-once"),
        // One at a time
        ExplorerMutant("two deliver at once", "serial-set-set", "P2.one-at-a-time"),
        ExplorerMutant("a change is posted outside the lock", "serial-set-set", "P2.ordered"),
        ExplorerMutant("a mailbox's wake-up is lost", "serial-set-set", "P1.ordered-once"),
        ExplorerMutant("isBusy is cleared outside the lock", "serial-set-set", "P1.ordered-once"),
        ExplorerMutant("a setter waits for a busy observer", "serial-set-set", "progress.livelock"),
        // Bindings
        ExplorerMutant("a binding applies an older change", "bind-set-set", "P3.destination-follows"),
        ExplorerMutant("a binding decides outside the lock", "bind-set-set", "P3.destination-follows"),
        ExplorerMutant("a pair agrees on one side alone", "bind-both-ways", "P3.pair-converges"),
        ExplorerMutant("a binding echoes", "bind-both-ways", "P3.pair-converges"),
        // Faults
        ExplorerMutant("a fork trusts foreign counts", "fork-cancel", "P18.child-counts"),
        ExplorerMutant("a fork reuses every record", "fork-modify", "P18.child-goes-on"),
        ExplorerMutant("a thread that exits inside a callback is not noticed", "exit-notify", "P17.new-thread"),
        // Faults in programs that have none of their own
        ExplorerMutant("a fork trusts foreign counts", "register-notify-cancel", faults: .fork, "P18.child-counts"),
        ExplorerMutant("a waiter asks once for a thread", "refused-cancel", faults: .noThread, "progress.deadlock"),
        ExplorerMutant(
            "a thread that exits inside a callback is not noticed",
            "modify-observe",
            faults: .exit,
            "P17.new-thread"
        ),
        // Paths, weak properties
        ExplorerMutant("a stale tail is heard", "path-rewire-set", "P2.path-versions", "P3.converges"),
        ExplorerMutant("a rewiring is lost", "path-rewire-set", "P3.converges"),
        ExplorerMutant("a path's end does not wait", "path-death-set", "P1.heard-before-the-end"),
        ExplorerMutant("a path's changes arrive as they come", "serial-path-rewire-set", "P2.ordered"),
        ExplorerMutant("a dead referent clears its successor", "weak-death-set", "P12.successor-stays"),
    ]
}
