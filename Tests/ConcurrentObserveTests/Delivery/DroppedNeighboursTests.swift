// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P3 Filters behind a policy that drops", .timeLimit(.minutes(2)))
    struct DroppedNeighboursTests {}
}

extension Promises.DroppedNeighboursTests {
    @Test("P3 The last value comes, though the change to it was dropped")
    func lastValue() async {
        let (flag, queue, received) = (Observed("off"), DispatchQueue(label: "slow"), Log<String>())
        let token = flag.removingDuplicates().observeValues(
            options: .initial,
            delivery: .queue(queue, buffering: .latest)
        ) { received.append($0) }
        await token.flush()
        queue.suspend()
        flag.value = "on"
        flag.value = "on"
        queue.resume()
        #expect(await token.flush())
        #expect(received.entries == ["off", "on"])
    }

    @Test("P2 P21 old is what was received last; the reason, the version and the commit are those of the last change")
    func old() async {
        let (first, second, queue) = (Observed(1), Observed(0), DispatchQueue(label: "slow"))
        let received = Log<Change<Int>>()
        let token = first.observe(delivery: .queue(queue, buffering: .latest)) { received.append($0) }
        queue.suspend()
        Group(first, second).commit { transaction in transaction[first] = 2 }
        first.value = 3
        queue.resume()
        await token.flush()
        #expect(received.entries == [Change(reason: .valueChanged, old: 1, new: 3, version: 2)])
    }

    @Test("P4 The change after an initial value that was dropped has no old value, and comes in any case")
    func initial() async {
        let (property, queue, received) = (Observed(1), DispatchQueue(label: "slow"), ReceivedChanges<Int>())
        queue.suspend()
        let token = property.removingDuplicates()
            .observe(options: .initial, delivery: .queue(queue, buffering: .latest)) { received.append($0) }
        property.value = 1
        queue.resume()
        await token.flush()
        #expect(received.lines == ["valueChanged - → 1 @1"])
    }

    @Test("P2 A prior delivery takes no change's place")
    func prior() async {
        let (property, queue, received) = (Observed(0), DispatchQueue(label: "slow"), ReceivedChanges<Int>())
        let token = property.observe(options: .prior, delivery: .queue(queue, buffering: .latest)) {
            received.append($0)
        }
        queue.suspend()
        for number in 1...3 { property.value = number }
        queue.resume()
        await token.flush()
        #expect(received.lines == ["valueChanged 0 → 3 @3"])
        #expect(token.counts.parts == [6, 1, 5])
    }

    @Test("P3 A path that led elsewhere and back, of which only the last change is kept, is left out")
    func path() async {
        let (car, queue, received) = (Car(1), DispatchQueue(label: "slow"), ReceivedChanges<Int>())
        let token = car.property(\.axle.wheel.pressure).removingDuplicates()
            .observe(delivery: .queue(queue, buffering: .latest)) { received.append($0) }
        queue.suspend()
        car.axle.value = Axle(2)
        car.setPressure(1)
        queue.resume()
        await token.flush()
        #expect(received.lines == [])
        #expect(token.counts.parts == [1, 0, 1])
    }

    @Test("P3 P11 A referent that was received and has died is followed by nil, inline too; the filter keeps none")
    func referents() async {
        let (property, queue) = (WeakObserved<ProductObject>(), DispatchQueue(label: "slow"))
        let (inline, received) = (Log<Int?>(), Log<Int?>())
        let distinct = property.removingDuplicates()
        let tokens = [
            distinct.observeValues { inline.append($0?.number) },
            distinct.observeValues(delivery: .queue(queue, buffering: .latest)) { received.append($0?.number) },
        ]
        var object: ProductObject? = ProductObject(1)
        let weak = Weak(object!)
        property.value = object
        await tokens[1].flush()
        object = nil
        #expect(weak.object == nil)
        property.value = nil
        await tokens[1].flush()
        #expect(inline.entries == [1, nil])
        #expect(received.entries == [1, nil])
    }
}
