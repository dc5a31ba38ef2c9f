// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("The article about transactions")
    struct TransactionArticleTests {}
}

extension Promises.TransactionArticleTests {
    @Test("Each line of its code stands in the code below, which compiles and runs")
    func code() throws { try expectArticle("Transactions", in: #filePath) }

    fileprivate final class Account: Sendable {
        let balance = Observed(100)
    }

    fileprivate struct Overdrawn: Error {}

    fileprivate final class Engine: ConcurrentObservable {
        let rpm = Observed(900)
    }

    fileprivate final class Car: ConcurrentObservable {
        let engine = Observed(Engine())
        let name = Observed("Beetle")
    }
}

// MARK: - The article's code

extension Promises.TransactionArticleTests {
    @Test("The examples")
    func examples() {
        let (from, to, received) = (Account(), Account(), Log<String>())
        let print = { @Sendable (text: any Sendable & CustomStringConvertible) in received.append(text.description) }
        let accounts = Group(from.balance, to.balance)
        accounts.commit { transaction in
            transaction[from.balance] -= 10
            transaction[to.balance] += 10
        }
        let (left, right) = accounts.value
        print(left + right)
        let token = accounts.observe { change in
            let (left, right) = change.new
            print("\(left), \(right)")
        }
        do {
            try accounts.commit { transaction in
                transaction[from.balance] -= 200
                if transaction[from.balance] < 0 { throw Overdrawn() }
                transaction[to.balance] += 200
            }
        } catch {
            print("overdrawn, and still \(from.balance.value)")
        }
        accounts.commit { transaction in
            transaction[from.balance] -= 90
            transaction[to.balance] += 90
        }
        #expect(received.entries == ["200", "overdrawn, and still 90", "0, 200"])
        token.cancel()
    }

    @Test("The example of a path")
    func path() {
        let car = Car()
        let rpm = car.property(\.engine.rpm)
        Group(rpm, car.name).commit { transaction in
            transaction[rpm] += 100
            transaction[car.name] = "\(transaction[rpm]) rpm"
        }
        #expect(car.engine.value.rpm.value == 1_000 && car.name.value == "1000 rpm")
    }
}
