// SPDX-License-Identifier: Apache-2.0

import Judging
import Testing

/// Judges rounds with these figures. The reference is 1 unless it is given. The rounds in
/// `disturbed` were disturbed.
private func judge(
    _ ours: [Double],
    over references: [Double]? = nil,
    disturbed: Set<Int> = [],
    _ summary: Summary = .median,
    bound: Double?
) -> Judgement {
    var rounds = Rounds()
    let references = references ?? ours.map { _ in 1 }
    var (next, nextReference) = (0, 0)
    rounds.run(
        ours.count,
        ours: {
            defer { next += 1 }
            return Sample(ours[next], isDisturbed: disturbed.contains(next))
        },
        reference: {
            defer { nextReference += 1 }
            return Sample(references[nextReference])
        }
    )
    return Judgement(of: rounds, summary, bound: bound)
}

@Suite("Judgements")
struct JudgementTests {
    @Test("A bar holds when the figure and the middle half of the rounds are within it")
    func holds() {
        #expect(judge([0.1, 0.2, 0.3, 0.4, 9], bound: 0.5).verdict == .holds)
    }

    @Test("A bar falls short when the figure and the middle half of the rounds are beyond it")
    func fallsShort() {
        #expect(judge([0.1, 0.6, 0.7, 0.8, 0.9], bound: 0.5).verdict == .fallsShort)
    }

    @Test("Rounds on both sides of the bound are not judged")
    func notJudged() {
        #expect(judge([0.1, 0.2, 0.3, 0.8, 0.9], bound: 0.5).verdict == .notJudged)
        #expect(judge([0.1, 0.2, 0.7, 0.8, 0.9], bound: 0.5).verdict == .notJudged)
    }

    @Test("The best rounds of both sides alone do not make a bar hold")
    func bestIsNotEnough() {
        #expect(judge([0.1, 0.8, 0.9, 0.9, 0.9], .best, bound: 0.5).verdict == .notJudged)
    }

    @Test(
        "The verdict is what every single round says, however much the rounds differ",
        arguments: [Summary.best, .median]
    )
    func everyRound(_ summary: Summary) {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<1_000 {
            let references = (0..<9).map { _ in Double.random(in: 1...1_000, using: &generator) }
            let within = references.map { $0 * .random(in: 0...0.1, using: &generator) }
            #expect(judge(within, over: references, summary, bound: 0.1000001).verdict == .holds)
            let beyond = references.map { $0 * .random(in: 0.1...10, using: &generator) }
            #expect(judge(beyond, over: references, summary, bound: 0.0999999).verdict == .fallsShort)
        }
    }

    @Test("A disturbed round counts for nothing beside three that were not")
    func disturbed() {
        let judgement = judge([0.1, 9, 0.1, 9, 0.1, 9, 9], disturbed: [1, 3, 5, 6], bound: 0.5)
        #expect(judgement.verdict == .holds)
        #expect(judgement.rounds == 3 && !judgement.isDisturbed)
        #expect(judge([9, 0.1, 9, 0.1, 9, 0.1, 0.1], disturbed: [1, 3, 5, 6], bound: 0.5).verdict == .fallsShort)
    }

    @Test("A round before which the machine did not settle counts for nothing, and is asked for before each")
    func settled() {
        for reference in [nil, 1.0] {
            var rounds = Rounds()
            var next = -1
            rounds.run(
                6,
                settle: {
                    next += 1
                    return next.isMultiple(of: 2)
                },
                ours: { Sample([0.1, 9][next % 2]) },
                reference: reference.map { figure in { Sample(figure) } }
            )
            let judgement = Judgement(of: rounds, .best, bound: 0.5)
            #expect(judgement.verdict == .holds && judgement.rounds == 3)
        }
    }

    @Test("Rounds of another process count as one's own; another text adds nothing", arguments: [nil, 2.0])
    func elsewhere(_ reference: Double?) {
        var rounds = Rounds()
        for index in 1...4 {
            rounds.add(Sample(Double(index), isDisturbed: index == 2), reference.map { Sample($0) })
        }
        var copy = Rounds()
        let isAdded = copy.add(text: rounds.text)
        #expect(isAdded && copy.text == rounds.text)
        for text in ["1", "x - false", "1 x false", "1 - 2", rounds.text + "\n1 -"] {
            let isAdded = copy.add(text: text)
            #expect(!isAdded && copy.text == rounds.text)
        }
        let (judgement, again) = (Judgement(of: rounds, .median, bound: 9), Judgement(of: copy, .median, bound: 9))
        #expect(judgement.rounds == 3 && again.rounds == 3 && again.figure == judgement.figure)
    }

    @Test("The figure of several processes is the median of each one's")
    func processes() {
        var rounds = Rounds()
        for _ in 1...3 { rounds.add(Sample(8), Sample(2)) }
        for (ours, reference) in [(4, 1), (12, 3)] {
            let text = (1...3).map { _ in "\(ours) \(reference) false" }.joined(separator: "\n")
            let isAdded = rounds.add(text: text)
            #expect(isAdded)
        }
        let judgement = Judgement(of: rounds, .best, bound: 4)
        #expect(judgement.figure == 4 && judgement.ours == 8 && judgement.reference == 2)
        #expect(judgement.verdict == .holds && judgement.rounds == 9)
    }

    @Test("With fewer than three undisturbed rounds nothing is judged, and the figures of all are shown")
    func tooFew() {
        let judgement = judge([0.1, 0.2, 0.3, 0.4], disturbed: [0, 3], bound: 0.5)
        #expect(judgement.verdict == .notJudged)
        #expect(judgement.rounds == 4 && judgement.isDisturbed)
        #expect(abs(judgement.figure - 0.25) < 1e-9)
        #expect(judgement.spread?.contains(0.25) == true)
    }

    @Test("A case without a bar is never one that was not judged")
    func withoutBar() {
        #expect(judge([0.1, 0.2, 0.3], bound: nil).verdict == .noBar)
        #expect(judge([0.1, 0.2, 0.3], disturbed: [1], bound: nil).verdict == .disturbed)
    }

    @Test("Rounds without a figure are left out; without any there is nothing to show")
    func withoutFigures() {
        let judgement = judge([.nan, .nan, .nan, .nan], bound: 0.5)
        #expect(judgement.verdict == .notJudged)
        #expect(judgement.spread == nil)
        #expect(judgement.ours.isNaN)
        #expect(judge([.nan, 0.1, 0.1, 0.1], bound: 0.5).verdict == .holds)
    }

    @Test("Without a reference the value itself is held against the bound")
    func withoutReference() {
        var rounds = Rounds()
        var values = [3.0, 1, 2, 5, 4].makeIterator()
        rounds.run(5, ours: { Sample(values.next()!) }, reference: nil)
        let judgement = Judgement(of: rounds, .median, bound: 4)
        #expect(judgement.figure == 3 && judgement.reference == nil)
        #expect(judgement.verdict == .holds)
        #expect(Judgement(of: rounds, .median, bound: 3).verdict == .notJudged)
    }

    @Test("Each side goes first in every other round, and the figures stay with their sides")
    func inTurn() {
        var rounds = Rounds()
        var order = ""
        rounds.run(
            4,
            ours: {
                order += "o"
                return Sample(1)
            },
            reference: {
                order += "r"
                return Sample(2)
            }
        )
        #expect(order == "orroorro")
        #expect(Judgement(of: rounds, .median, bound: nil).figure == 0.5)
    }
}
