// SPDX-License-Identifier: Apache-2.0

import Judging
import Testing

@Suite("Peers")
struct PeerTableTests {
    @Test("A line of figures is one run for each thread; anything else is none")
    func parsing() {
        #expect(
            ThreadRun.parse("100 300 20 0 110 310 30 1 ") == [
                ThreadRun(begin: 100, end: 300, done: 20, preemptions: 0),
                ThreadRun(begin: 110, end: 310, done: 30, preemptions: 1),
            ]
        )
        for line in ["", "-", "1 2 3", "1 2 3 x", "1 2 3 4 5"] { #expect(ThreadRun.parse(line) == nil) }
    }

    @Test("The figure of threads is the time of all over the operations of all")
    func figure() {
        let sample = Sample(of: ThreadRun.parse("100 300 20 0 110 310 30 0")!)
        #expect(sample.figure == 8 && !sample.isDisturbed)
    }

    @Test("Threads that ran one after the other, or lost their processor, were disturbed")
    func disturbed() {
        #expect(Sample(of: ThreadRun.parse("100 300 20 0 290 490 20 0")!).isDisturbed)
        #expect(Sample(of: ThreadRun.parse("100 300 20 0 110 310 30 1")!).isDisturbed)
    }

    @Test("A disturbed measurement is repeated, at most seven times")
    func repeated() {
        var count = 0
        func measure(until last: Int) -> Sample {
            count = 0
            return .undisturbed {
                count += 1
                return Sample(Double(count), isDisturbed: count < last)
            }
        }
        #expect(measure(until: 3).figure == 3 && count == 3)
        #expect(measure(until: 100).isDisturbed && count == 8)
    }

    @Test("The table marks and counts where ours is slower, and leaves out what a peer does not have")
    func table() {
        var table = PeerTable(peers: ["One", "Other"])
        table.add("notify", ours: judgement(2), theirs: [judgement(1), nil])
        table.add("read", ours: judgement(2), theirs: [judgement(5, isDisturbed: true), judgement(2000)])
        #expect(
            table.markdown == """
                | operation | ours | One | Other |
                | --- | --- | --- | --- |
                | notify | 2.00 | **1.00 (2.00)** |  |
                | read | 2.00 | 5.00, disturbed (0.40) | 2000 (< 0.01) |

                Nanoseconds; in parentheses ours divided by the peer's. **Bold**: ours is slower, in 1 of
                3 comparisons.

                """
        )
    }

    private func judgement(_ figure: Double, isDisturbed: Bool = false) -> Judgement {
        var rounds = Rounds()
        for _ in 0..<3 { rounds.add(Sample(figure, isDisturbed: isDisturbed)) }
        return Judgement(of: rounds, .median, bound: nil)
    }
}
