// SPDX-License-Identifier: Apache-2.0

/// The rounds of one case, ours and the reference's measured in turn.
package struct Rounds {
    private var undisturbed: [Round] = []
    private var disturbed: [Round] = []
    private var isOursFirst = true
    /// How many processes have measured.
    private var processes = 1

    struct Round {
        let process: Int
        let ours: Double
        let reference: Double?

        /// Ours over the reference; without a reference, ours.
        var figure: Double { reference.map { ours / $0 } ?? ours }
    }

    package init() {}

    /// Fewer say nothing about how much they spread.
    private static let least = 3

    /// Whether those that were not disturbed suffice to judge by.
    var isEnough: Bool { undisturbed.count >= Self.least }

    /// The rounds that were not disturbed; if these do not suffice, all rounds.
    var shown: [Round] { isEnough ? undisturbed : undisturbed + disturbed }

    /// The rounds that are shown, by the process that has measured them.
    var shownByProcess: [[Round]] { Dictionary(grouping: shown, by: \.process).sorted { $0.key < $1.key }.map(\.value) }

    /// Measures `count` rounds more. Each side goes first in every other round, so that a drift
    /// favours neither.
    ///
    /// - Parameter settle: Waits, before each round, until the machine is as it should be; false:
    ///   it is not.
    package mutating func run(
        _ count: Int,
        settle: () -> Bool = { true },
        ours measureOurs: () -> Sample,
        reference measureReference: (() -> Sample)?
    ) {
        for _ in 0..<count {
            let isSettled = settle()
            guard let measureReference else {
                add(measureOurs(), isSettled: isSettled)
                continue
            }
            let early = isOursFirst ? measureOurs() : measureReference()
            let late = isOursFirst ? measureReference() : measureOurs()
            add(isOursFirst ? early : late, isOursFirst ? late : early, isSettled: isSettled)
            isOursFirst.toggle()
        }
    }

    /// Adds a round that was measured elsewhere.
    package mutating func add(_ ours: Sample, _ reference: Sample? = nil, isSettled: Bool = true) {
        let round = Round(process: processes, ours: ours.figure, reference: reference?.figure)
        if round.figure.isNaN { return }
        if !isSettled || ours.isDisturbed || reference?.isDisturbed == true {
            disturbed.append(round)
        } else {
            undisturbed.append(round)
        }
    }
}

// MARK: - In another process

extension Rounds {
    /// A line for each round: ours, the reference's or `-`, and whether it was disturbed.
    package var text: String {
        (undisturbed.map { ($0, false) } + disturbed.map { ($0, true) }).map { round, isDisturbed in
            "\(round.ours) \(round.reference.map { "\($0)" } ?? "-") \(isDisturbed)"
        }.joined(separator: "\n")
    }

    /// Adds the rounds of such a text.
    ///
    /// - Returns: Whether it is one; nothing is added otherwise.
    package mutating func add(text: String) -> Bool {
        var all: [(ours: Sample, reference: Sample?)] = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count == 3, let ours = Double(fields[0]), let isDisturbed = Bool(String(fields[2])) else {
                return false
            }
            let reference = Double(fields[1])
            guard reference != nil || fields[1] == "-" else { return false }
            all.append((Sample(ours, isDisturbed: isDisturbed), reference.map { Sample($0) }))
        }
        processes += 1
        for round in all { add(round.ours, round.reference) }
        return true
    }
}
