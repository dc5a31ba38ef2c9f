// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P7 Blocking callbacks: properties")
    struct P07PropertyBlockingTests {}
}

extension Promises.P07PropertyBlockingTests {
    /// The delivery that blocks.
    enum Delivery: String, CaseIterable, Sendable { case initial, prior, change, end }

    @Test("P7 A callback that blocks delays its own thread only, whatever is delivered", arguments: Delivery.allCases)
    func blocked(delivery: Delivery) throws {
        let property = Slot(Observed([0]))
        let alive = delivery == .end ? Observed([0]) : property.value!
        let lives = Lives()
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let hasBlocked = Flag()
        let tokens = Log<ObservationToken>()
        let block: @Sendable () -> Void = {
            if hasBlocked.isSet { return }
            hasBlocked.set()
            entered.happen()
            exit.hold()
        }
        let body: @Sendable (Change<[Int]>) -> Void = { change in
            let isIt =
                switch delivery {
                case .initial: change.reason == .initial
                case .prior: change.reason == .prior
                case .change: change.reason == .valueChanged
                case .end: false
                }
            if isIt { block() }
        }
        if delivery != .initial {
            let token = property.value!.observe(options: .prior, body)
            if delivery == .end { token.onEnd { _ in block() } }
            tokens.append(token)
        }
        let blocked = TestThread {
            switch delivery {
            case .initial: tokens.append(property.value!.observe(options: .initial, body))
            case .prior, .change: property.value!.value = [1]
            case .end: property.clear()
            }
        }
        try entered.wait()
        let goesOn = anotherThreadFinishes {
            for _ in 0..<100 {
                let life = lives.make()
                let received = ReceivedChanges<[Int]>()
                let token = alive.observe(options: .initial) { (change: Change<[Int]>) in
                    life.touch()
                    received.append(change)
                }
                alive.modify { $0.append(1) }
                #expect(received.count == 2)
                #expect(token.cancelAndWaitBlocking() == .finished)
            }
            #expect(alive.value.count > 100)
        }
        #expect(goesOn)
        #expect(lives.alive == 0)
        exit.happen()
        try blocked.join()
        property.clear()
        try Process.settle()
    }
}
