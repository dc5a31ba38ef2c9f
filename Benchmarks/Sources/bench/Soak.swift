// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConcurrentObserve
import Foundation
import Synchronization

/// Sets properties for a long time, and measures the process's memory.
///
/// Two threads set values of each kind that is retired in another way, and a third one reads them.
/// After the first tenth of the time, memory may grow only by a limited amount.
struct Soak: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set properties for a long time: memory must stay flat.",
        discussion: "Exit codes: 0 flat, 1 wrong usage, 2 it has grown, or there were fewer sets than asked for."
    )

    @Option(help: ArgumentHelp("How long.", valueName: "seconds"))
    var duration = 600

    @Option(help: ArgumentHelp("How many sets there must be.", valueName: "count"))
    var sets = 100_000_000

    /// The largest accepted growth in bytes, at rest.
    private static let mostGrowth = 4 << 20

    func run() throws {
        let soaked = SoakedProperties()
        let begin = ContinuousClock.now
        soaked.run(for: .seconds(duration) / 10)
        let (first, early) = (soaked.residentAtRest(), soaked.count)
        print("after \(duration / 10) s: \(early) sets, \(first >> 10) KiB")
        for part in 2...10 {
            soaked.run(for: .seconds(duration) / 10)
            print("after \(duration * part / 10) s: \(soaked.count) sets, \(soaked.residentAtRest() >> 10) KiB")
            fflush(nil)
        }
        let growth = soaked.residentAtRest() - first
        let time = begin.duration(to: .now)
        print("\(soaked.count) sets in \(time), \(growth >> 10) KiB more than after the first tenth")
        if growth > Self.mostGrowth || soaked.count < sets { throw ExitCode(2) }
    }
}

/// The properties, whose values are retired in each of the ways.
private final class SoakedProperties: Sendable {
    private let string = Observed(PropertyReadSuite.heapString)
    private let array = Observed([0])
    private let dictionary = Observed([0: 0])
    private let object = Observed(SoakedObject(0))
    private let box = Observed(SoakedBox(0))
    private let sum = Atomic<Int>(0)
    private let isOver = Atomic<Bool>(false)

    // Relaxed, all of this class: statistics.
    var count: Int { sum.load(ordering: .relaxed) }

    func run(for time: Duration) {
        isOver.store(false, ordering: .relaxed)
        let ends = DispatchGroup()
        for body in [set, set, read] { Thread.detachNewThread(in: ends) { body() } }
        Thread.sleep(forTimeInterval: time / .seconds(1))
        isOver.store(true, ordering: .relaxed)
        ends.wait()
    }

    private func set() {
        let strings = (PropertyReadSuite.heapString, PropertyReadSuite.heapString + ".")
        while !isOver.load(ordering: .relaxed) {
            for number in 0..<200 {
                string.value = number & 1 == 0 ? strings.0 : strings.1
                array.value = [number, number]
                dictionary.value = [number: number]
                object.value = SoakedObject(number)
                box.value = SoakedBox(number)
            }
            sum.add(1_000, ordering: .relaxed)
        }
    }

    private func read() {
        var bytes = 0
        while !isOver.load(ordering: .relaxed) {
            bytes &+= string.value.utf8.count &+ array.value.count &+ object.value.number
            bytes &+= box.withValue { $0.words.4 }
            bytes &+= dictionary.withValue { $0.count }
        }
        consume(bytes)
    }

    func residentAtRest() -> Int {
        ConcurrentObserveDiagnostics.drain()
        let fields = try! String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return Int(fields[1])! * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}

/// An object with a deinitialiser, so that a deinit thread destroys it.
private final class SoakedObject: Sendable {
    let number: Int

    init(_ number: Int) { self.number = number }

    deinit { consume(number) }
}

/// A value that is larger than two words.
private struct SoakedBox: Sendable {
    let words: (Int, Int, Int, Int, Int)

    init(_ number: Int) { words = (number, number, number, number, number) }
}

extension Thread {
    fileprivate static func detachNewThread(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        detachNewThread {
            body()
            group.leave()
        }
    }
}
