// SPDX-License-Identifier: Apache-2.0

import Judging

/// The most that a case's figure may be; from the design's table of performance.
enum Bar {
    /// Ours over the reference.
    case ratio(Double)
    /// A bound on our figure, in the case's unit. The reference does not matter.
    case value(Double)
    /// Measured for comparison only.
    ///
    /// - Parameter why: Why there is no bar; the table shows it.
    case compared(_ why: String)

    var bound: Double? {
        switch self {
        case .ratio(let bound), .value(let bound): bound
        case .compared: nil
        }
    }

    /// Why there is no bar.
    var why: String? { if case .compared(let why) = self { why } else { nil } }
}

extension Bar {
    static let emptyNotify = Bar.ratio(0.5)
    static let notifyOne = Bar.ratio(1.75)
    static let notifyHundred = Bar.ratio(1.3)
    /// Between those of one and of a hundred.
    static let notifyTen = Bar.ratio(1.6)
    /// The other side is atomic operations: of the lock, and of the counts of the array and of each
    /// closure. On one machine they took a notification of one observer from 17 to 240 ns within an
    /// hour, while ours took 4.1 to 4.6. What ours itself costs is held against the loop in C, and
    /// in instructions.
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
    /// "Grows no more than the reference": both grow by nothing when all is well, and two equal
    /// figures never measure equal. A tenth is what this comparison resolves; a shared cache line
    /// written per notification shows as 3 and more.
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
    /// As a million in a second.
    static let registeredNanoseconds = Bar.value(1_000)
    static let millionNotified = Bar.ratio(2)
    static let read = Bar.ratio(0.5)
    /// Strings that need no memory of their own: their box is pinned.
    static let readShortString = Bar.ratio(0.6)
    static let readFromHeap = Bar.ratio(1)
    static let readOnTwoThreads = Bar.ratio(0.1)
    /// Both sides count references in one word, on which the threads wait for each other; a mutex
    /// is another such word.
    static let readFromHeapOnTwoThreads = Bar.ratio(1)
    /// Beside a copy on as many threads, which counts a reference.
    static let lendOnTwoThreads = Bar.ratio(0.25)
    static let growthOfLending = Bar.value(1.1)
    static let besideChurn = Bar.ratio(3)
    /// A commit of so many properties, beside one plain set.
    static func commit(of properties: Int) -> Bar { .ratio(2 * Double(properties)) }
    /// A snapshot of so many properties, beside one standalone read.
    static func snapshot(of properties: Int) -> Bar { .ratio(2 * Double(properties)) }
    static let snapshotBesideCommits = Bar.ratio(1)
    static let setManyObserved = Bar.ratio(1.4)
    static let bindOneWay = Bar.ratio(3)
    static let bindTwoWay = Bar.ratio(5)
    static let setUnobserved = Bar.ratio(2)
    static let setObserved = Bar.ratio(0.2)
    /// Values whose destruction runs no user code, in turn and fresh.
    static let setReference = Bar.ratio(3)
    /// Values whose destruction may run user code: objects, fresh ones, and structs with
    /// references.
    static let setObject = Bar.ratio(7)
    /// The processor time of the reclamation thread beside changes that leave it nothing to do. The
    /// user who reported the problem saw two to seven.
    static let reclamationBesideSets = Bar.value(0.5)
    /// Values that are larger than two words, and so are in a box of their own.
    static let setBox = Bar.ratio(6)
    static let setOfObservation = Bar.ratio(0.1)
    static let modify = Bar.ratio(2)
    static let bytesPerProperty = Bar.value(96)
    /// "As cheap as the property itself": this comparison resolves a tenth.
    static let pathOfOneStep = Bar.ratio(1.1)
    static let pathOfThreeSteps = Bar.ratio(2)
    static let bytesPerStep = Bar.value(200)
    /// A change, an evaluation and a delivery, over a change with one delivery.
    static let firedNode = Bar.ratio(20)
    static let diamondOfCombine = Bar.ratio(1.0 / 10)
    static let bytesPerDerived = Bar.value(256)
    /// "At least 0.8 times as fast."
    static let philosophers = Bar.ratio(1.25)
    static let enqueue = Bar.ratio(0.5)
    static let consumeTasks = Bar.ratio(1.0 / 5)
    static let consumeStream = Bar.ratio(1.0 / 3)
    /// A sequence has one more step than a stream: the mailbox, and the stream's own buffer.
    static let ofSequence = Bar.ratio(1)
    static let allocationsPerLatest = Bar.value(0)
    /// The allocations of one task.
    static let allocationsPerDelivery = Bar.value(7)
}

extension [Outcome] {
    /// How many bars hold, and which cases fall short or could not be judged.
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

    /// The command's exit code.
    var exitCode: Int32 {
        if contains(where: { $0.judgement.verdict == .fallsShort }) { return 2 }
        if contains(where: { $0.judgement.verdict == .notJudged }) { return 4 }
        return 0
    }
}
