// SPDX-License-Identifier: Apache-2.0

/// The rounds of one case. Our rounds and the reference's alternate.
package struct Rounds {
    private var undisturbed: [Round] = []
    private var disturbed: [Round] = []
    private var isOursFirst = true
    /// The number of processes that have measured.
    private var processes = 1

    struct Round {
        let process: Int
        let ours: Double
        let reference: Double?

        /// Our figure divided by the reference's; our figure if there is no reference.
        var figure: Double { reference.map { ours / $0 } ?? ours }
    }

    package init() {}

    /// The smallest number of rounds that shows how much they differ.
    private static let least = 3

    /// Whether there are enough undisturbed rounds for a judgement.
    var isEnough: Bool { undisturbed.count >= Self.least }

    /// The undisturbed rounds; all rounds if these are too few.
    var shown: [Round] { isEnough ? undisturbed : undisturbed + disturbed }

    /// The rounds that are shown, by the process that measured them.
    var shownByProcess: [[Round]] { Dictionary(grouping: shown, by: \.process).sorted { $0.key < $1.key }.map(\.value) }

    /// Measures `count` more rounds. The sides take the first place alternately, so that a slow
    /// change of the machine favours neither.
    ///
    /// - Parameter settle: Waits before each round until the machine is ready. Returns false if it
    ///   is not.
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
    /// The rounds as text, with one line for each: our figure, the reference's or `-`, and whether
    /// the round was disturbed.
    package var text: String {
        (undisturbed.map { ($0, false) } + disturbed.map { ($0, true) }).map { round, isDisturbed in
            "\(round.ours) \(round.reference.map { "\($0)" } ?? "-") \(isDisturbed)"
        }.joined(separator: "\n")
    }

    /// Adds the rounds in such a text.
    ///
    /// - Returns: False if the text is wrong. Then nothing is added.
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
