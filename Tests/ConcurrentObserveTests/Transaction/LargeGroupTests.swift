// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P19 P20 Many members")
    struct LargeGroupTests {}
}

extension Promises.LargeGroupTests {
    @Test("P19 Each draft of a commit of thousands is found, in any order, and no other property's")
    func drafts() async {
        let properties = (0..<5_000).map { Observed($0) }
        PropertyList(properties).commit { transaction in
            for property in properties.shuffled() { transaction[property] = -transaction[property] }
        }
        #expect(zip(properties, 0...).allSatisfy { property, number in property.value == -number })
        #expect(properties.allSatisfy { $0.version == 1 })
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Process.limitLife(seconds: 20)
            let members = (0..<100).map { Observed($0) }
            PropertyList(members).commit { transaction in transaction[Observed(0)] = 1 }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("the draft of a property that is no member of the group"))
    }

    @Test("P20 A snapshot of very many that has to hold off publication needs no stack for each")
    func snapshotOnSmallStack() throws {
        let properties = (0..<20_000).map { _ in Observed(0) }
        let list = PropertyList(properties)
        let writer = Hammer(threads: 2) {
            properties[0].value += 1
            properties[19_999].value += 1
        }
        try writer.waitUntilWarm()
        let (isDone, sums) = (Signal("a snapshot"), Log<Int>())
        let thread = TestThread(stackSize: 256 << 10) {
            for _ in 0..<3 { sums.append(list.value.reduce(0, +)) }
            isDone.happen()
        }
        try isDone.wait()
        try thread.join()
        try writer.stop()
        #expect(sums.entries == sums.entries.sorted())
    }
}
