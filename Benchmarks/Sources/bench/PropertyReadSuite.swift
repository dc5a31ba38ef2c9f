// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Judging

/// Measures reads of a property. The reference reads a value behind a mutex. The reads are made on
/// one thread, and on two that contend.
enum PropertyReadSuite {
    static let cases =
        reads("int", .read, .readOnTwoThreads, beside: quickReads, Ints())
        + reads("short-string", .readShortString, .readOnTwoThreads, beside: quickReads, Strings("fifteen bytes !"))
        + reads("heap-string", .readFromHeap, .readFromHeapOnTwoThreads, beside: copies, Strings(heapString))
        + [lentString, lentKibibyte, part]

    /// The number of reads in a round with another thread. The round is long enough for the threads
    /// to meet, also in a quick run, and too short for the system to take the processor away each
    /// time.
    private static let (quickReads, copies) = (200_000, 20_000)

    static var heapString: String { String(repeating: "sixteen and more", count: 2) }

    /// Two threads that copy a value count its references in one word. If they borrow the value,
    /// they count nothing.
    private static let lentString = Case(
        name: "property.lend.heap-string-2-threads",
        unit: .nanoseconds,
        bar: .lendOnTwoThreads,
        summary: .median
    ) { _ in
        let property = Observed(heapString)
        let (lend, read) = ({ lendInLoop(property, $0) }, { readInLoop(property, $0) }) as (Reads.Loop, Reads.Loop)
        return Case.Sides(
            ours: { nanosecondsPerOperation(quickReads, [lend, lend]) },
            reference: { nanosecondsPerOperation(copies, [read, read]) }
        )
    }

    /// The factor by which borrowing a large value takes longer if another thread borrows it, too.
    private static let lentKibibyte = Case(
        name: "property.lend.kibibyte-growth-on-2-threads",
        unit: .growth,
        bar: .growthOfLending,
        summary: .median
    ) { _ in
        let property = Observed(Kibibyte(repeating: 1))
        let lend: Reads.Loop = { times in
            var sum = 0
            for _ in 0..<times { sum &+= property.withValue { $0[7] } }
            consume(sum)
        }
        return Case.Sides(ours: { growth(of: lend, quickReads) })
    }

    /// The factor by which reading a part of a value that counts references takes longer if another
    /// thread reads it, too.
    private static let part = Case(
        name: "property.part.growth-on-2-threads",
        unit: .growth,
        bar: .growthOfLending,
        summary: .median
    ) { _ in
        let property = Observed(Limits(name: heapString, perMinute: 100))
        let read: Reads.Loop = { times in
            var sum = 0
            for _ in 0..<times { sum &+= property.value(\.perMinute) }
            consume(sum)
        }
        return Case.Sides(ours: { growth(of: read, quickReads) })
    }

    private static func growth(of loop: @escaping Reads.Loop, _ times: Int) -> Sample {
        let alone = nanosecondsPerOperation(times, [loop])
        let together = nanosecondsPerOperation(times, [loop, loop])
        return Sample(together.figure / alone.figure, isDisturbed: alone.isDisturbed || together.isDisturbed)
    }

    private static func reads(
        _ what: String,
        _ alone: Bar,
        _ contended: Bar,
        beside times: Int,
        _ reading: some Reading
    ) -> [Case] {
        [
            onOneThread("property.read.\(what)", alone, reading.singly),
            onOneThread("property.read.\(what)-in-loop", alone, reading.inLoop),
            onTwoThreads("property.read.\(what)-2-threads", contended, times, reading.singly),
            onTwoThreads("property.read.\(what)-in-loop-2-threads", contended, times, reading.inLoop),
        ]
    }

    private static func onOneThread(_ name: String, _ bar: Bar, _ read: Reads) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar) { effort in
            let times = effort.work(500_000)
            return Case.Sides(
                ours: { nanoseconds { read.ours(times) } / Double(times) },
                reference: { nanoseconds { read.reference(times) } / Double(times) }
            )
        }
    }

    private static func onTwoThreads(_ name: String, _ bar: Bar, _ times: Int, _ read: Reads) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar, summary: .median) { _ in
            Case.Sides(
                ours: { nanosecondsPerOperation(times, [read.ours, read.ours]) },
                reference: { nanosecondsPerOperation(10_000, [read.reference, read.reference]) }
            )
        }
    }
}

private typealias Kibibyte = InlineArray<128, Int>

/// The loops of reads, one for each side.
private struct Reads: Sendable {
    typealias Loop = @Sendable (Int) -> Void
    let ours: Loop
    let reference: Loop
}

/// Reads one kind of value in both forms.
private protocol Reading {
    var singly: Reads { get }
    var inLoop: Reads { get }
}

private struct Ints: Reading {
    private let property = Observed(1)
    private let guarded = MutexInt(1)

    var singly: Reads {
        Reads(ours: { [property] in readSingly(property, $0) }, reference: { [guarded] in readSingly(guarded, $0) })
    }

    var inLoop: Reads {
        Reads(ours: { [property] in readInLoop(property, $0) }, reference: { [guarded] in readInLoop(guarded, $0) })
    }
}

private struct Strings: Reading {
    private let property: Observed<String>
    private let guarded: MutexString

    init(_ value: String) {
        property = Observed(value)
        guarded = MutexString(value)
    }

    var singly: Reads {
        Reads(ours: { [property] in readSingly(property, $0) }, reference: { [guarded] in readSingly(guarded, $0) })
    }

    var inLoop: Reads {
        Reads(ours: { [property] in readInLoop(property, $0) }, reference: { [guarded] in readInLoop(guarded, $0) })
    }
}
