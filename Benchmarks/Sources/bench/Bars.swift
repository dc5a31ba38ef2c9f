// SPDX-License-Identifier: Apache-2.0

import Judging

/// The largest accepted figure of a case, from the design's table of performance.
enum Bar {
    /// A bound on our figure divided by the reference's.
    case ratio(Double)
    /// A bound on our figure, in the unit of the case. The reference does not matter.
    case value(Double)
    /// There is no bar: the case is measured only for comparison.
    ///
    /// - Parameter why: The reason why there is no bar. The table shows it.
    case compared(_ why: String)

    var bound: Double? {
        switch self {
        case .ratio(let bound), .value(let bound): bound
        case .compared: nil
        }
    }

    /// The reason why there is no bar.
    var why: String? { if case .compared(let why) = self { why } else { nil } }
}

extension Bar {
    static let emptyNotify = Bar.ratio(0.5)
    static let notifyOne = Bar.ratio(1.75)
    static let notifyHundred = Bar.ratio(1.3)
    /// It is between the bars for one and for a hundred observers.
    static let notifyTen = Bar.ratio(1.6)
    /// The other side consists of atomic operations: of the lock, and of the reference counts of
    /// the array and of each closure. On one machine they took from 17 to 240 ns for a notification
    /// of one observer within an hour. Ours took 4.1 to 4.6 ns. The cost of ours is compared with
    /// the loop in C, and counted in instructions.
    static let notifyOfMutex = Bar.ratio(0.25)
    static let notifyOfActor = Bar.ratio(0.25)
    static let notifyTenOfCombine = Bar.ratio(1.0 / 40)
    static let notifyOneOfCombine = Bar.ratio(1.0 / 15)
    static let notifyHundredOfCombine = Bar.ratio(1.0 / 50)
    static let notifyOneOfCenter = Bar.ratio(1.0 / 30)
    static let notifyManyOfCenter = Bar.ratio(1.0 / 20)
    static let pairOfCombine = Bar.ratio(1.0 / 5)
    static let pairOfDictionary = Bar.ratio(1.5)
    static let pairOfCenter = Bar.ratio(0.5)
    static let latencyUnderChurn = Bar.ratio(3)
    /// "Grows no more than the reference." Both grow by nothing if all is well, and two equal
    /// figures are never measured as equal. This comparison can show a difference of a tenth. A
    /// shared cache line that is written in each notification would show as 3 or more.
    static let growthOnTwoThreads = Bar.ratio(1.1)
    static let growthBesideMutex = Bar.ratio(0.5)
    static let mutexOnTwoThreads = Bar.ratio(0.1)
    static let pairAmongManyLive = Bar.ratio(2)
    static let waitMicroseconds = Bar.value(20)
    static let waitBesideStuckMicroseconds = Bar.value(1_000)
    static let destructionBesideStuckMilliseconds = Bar.value(100)
    static let growthBesideStuckMebibytes = Bar.value(16)
    static let bytesPerObservation = Bar.value(160)
    static let millionRegisteredSeconds = Bar.value(1)
    /// A million registrations in a second.
    static let registeredNanoseconds = Bar.value(1_000)
    static let millionNotified = Bar.ratio(2)
    static let read = Bar.ratio(0.5)
    /// Strings that need no memory of their own. Their box is pinned.
    static let readShortString = Bar.ratio(0.6)
    static let readFromHeap = Bar.ratio(1)
    static let readOnTwoThreads = Bar.ratio(0.1)
    /// Both sides count references in one word, for which the threads wait. A mutex is another such
    /// word.
    static let readFromHeapOnTwoThreads = Bar.ratio(1)
    /// The reference is a copy on the same number of threads, which counts a reference.
    static let lendOnTwoThreads = Bar.ratio(0.25)
    static let growthOfLending = Bar.value(1.1)
    static let besideChurn = Bar.ratio(3)
    /// Returns the bar for a commit of this number of properties. The reference is one plain set.
    static func commit(of properties: Int) -> Bar { .ratio(2 * Double(properties)) }
    /// Returns the bar for a snapshot of this number of properties. The reference is one read
    /// outside a loop.
    static func snapshot(of properties: Int) -> Bar { .ratio(2 * Double(properties)) }
    static let snapshotBesideCommits = Bar.ratio(1)
    static let setManyObserved = Bar.ratio(1.4)
    static let bindOneWay = Bar.ratio(3)
    static let bindTwoWay = Bar.ratio(5)
    static let setUnobserved = Bar.ratio(2)
    static let setObserved = Bar.ratio(0.2)
    /// Values whose destruction runs no user code, both alternating and new ones.
    static let setReference = Bar.ratio(3)
    /// Values whose destruction may run user code: new objects, and structs with references.
    static let setObject = Bar.ratio(7)
    /// The processor time of the reclamation thread during changes that leave it no work. The user
    /// who reported the problem saw two to seven.
    static let reclamationBesideSets = Bar.value(0.5)
    /// Values that are larger than two words, and so have their own box.
    static let setBox = Bar.ratio(6)
    static let setOfObservation = Bar.ratio(0.1)
    static let modify = Bar.ratio(2)
    static let bytesPerProperty = Bar.value(96)
    /// "As cheap as the property itself." This comparison can show a difference of a tenth.
    static let pathOfOneStep = Bar.ratio(1.1)
    static let pathOfThreeSteps = Bar.ratio(2)
    static let bytesPerStep = Bar.value(200)
    /// A change, an evaluation and a delivery. The reference is a change with one delivery.
    static let firedNode = Bar.ratio(20)
    static let diamondOfCombine = Bar.ratio(1.0 / 10)
    static let bytesPerDerived = Bar.value(256)
    /// "At least 0.8 times as fast."
    static let philosophers = Bar.ratio(1.25)
    static let enqueue = Bar.ratio(0.5)
    static let consumeTasks = Bar.ratio(1.0 / 5)
    static let consumeStream = Bar.ratio(1.0 / 3)
    /// A sequence has one step more than a stream: the mailbox, and the stream's own buffer.
    static let ofSequence = Bar.ratio(1)
    static let allocationsPerLatest = Bar.value(0)
    /// The allocations of one task.
    static let allocationsPerDelivery = Bar.value(7)
}

extension [Outcome] {
    /// The number of bars that hold, and the names of the cases that fall short or could not be
    /// judged.
    var summary: String {
        func names(_ verdict: Verdict) -> [String] {
            filter { $0.judgement.verdict == verdict }.map(\.name)
        }
        var lines = ["bench: \(names(.holds).count) bars hold"]
        let open: [(String, Verdict)] = [
            ("fall short", .fallsShort), ("are not judged", .notJudged), ("were disturbed", .disturbed),
        ]
        for (text, verdict) in open where !names(verdict).isEmpty {
            lines.append("bench: \(names(verdict).count) \(text): \(names(verdict).joined(separator: ", "))")
        }
        return lines.joined(separator: "\n")
    }

    /// The exit code of the command.
    var exitCode: Int32 {
        if contains(where: { $0.judgement.verdict == .fallsShort }) { return 2 }
        if contains(where: { $0.judgement.verdict == .notJudged }) { return 4 }
        return 0
    }
}
