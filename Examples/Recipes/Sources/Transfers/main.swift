// SPDX-License-Identifier: Apache-2.0
//
// Money that moves between accounts from several threads: none is made or lost in any sum, and a
// transfer that is refused leaves no trace.

import ConcurrentObserve
import Dispatch
import Synchronization

final class Account: Sendable {
    let name: String
    let balance: Observed<Int>

    init(_ name: String, _ balance: Int) {
        self.name = name
        self.balance = Observed(balance)
    }
}

struct Refused: Error {
    let name: String
    let missing: Int
}

final class Bank: Sendable {
    let accounts: [Account]
    /// How far an account may be overdrawn. A change of it never overlaps a transfer that decides
    /// by it.
    let overdraft = Observed(0)
    private let balances: PropertyList<Observed<Int>>

    init(_ accounts: [Account]) {
        self.accounts = accounts
        balances = PropertyList(accounts.map(\.balance))
    }

    /// Locks these two accounts and nothing else, whatever their order: transfers between others go
    /// on.
    func transfer(_ amount: Int, from: Account, to: Account) throws {
        try Group(from.balance, to.balance).commit(reading: overdraft) { draft in
            draft[from.balance] -= amount
            let missing = -draft[from.balance] - draft[overdraft]
            // Nothing has been published yet: throwing here changes nothing, and no observer is
            // called.
            guard missing <= 0 else { throw Refused(name: from.name, missing: missing) }
            draft[to.balance] += amount
        }
    }

    /// Present together at one moment, without a lock.
    var total: Int { balances.value.reduce(0, +) }
}

let (ann, bob, cem) = (Account("Ann", 100), Account("Bob", 100), Account("Cem", 100))
let bank = Bank([ann, bob, cem])

print("--- one change for a transfer, to an observer of both")
let token = Group(ann.balance, bob.balance).observe { change in
    print("Ann \(change.old!.0) -> \(change.new.0), Bob \(change.old!.1) -> \(change.new.1)")
}
try bank.transfer(30, from: ann, to: bob)

print("--- refused: no change, no observer")
do {
    try bank.transfer(90, from: ann, to: bob)
} catch let refused as Refused {
    print("\(refused.name) misses \(refused.missing); still \(ann.balance.value) and \(bob.balance.value)")
}
bank.overdraft.value = 20
try bank.transfer(90, from: ann, to: bob)
token.cancel()

print("--- four threads transfer while two add up")
bank.overdraft.value = 10
let wrong = Atomic(0)
DispatchQueue.concurrentPerform(iterations: 6) { thread in
    for round in 0..<2_000 {
        if thread < 4 {
            let from = bank.accounts[(thread + round) % 3]
            let to = bank.accounts[(thread + round + 1 + round % 2) % 3]
            // Some are refused, as a whole.
            try? bank.transfer(thread + 1, from: from, to: to)
        } else if bank.total != 300 {
            wrong.add(1, ordering: .relaxed)
        }
    }
}
print("wrong sums: \(wrong.load(ordering: .relaxed)) of 4000")
print("total \(bank.total)")
