// SPDX-License-Identifier: Apache-2.0

/// Says which thread took each step. This is enough to repeat the run.
///
/// The text has a letter for the thread and the number of its steps, again and again: `a12b3a2`.
package struct Schedule: Equatable, Sendable {
    package var steps: [Int]

    package init(_ steps: [Int]) { self.steps = steps }

    package init?(text: some StringProtocol) {
        steps = []
        var text = text[...]
        while let letter = text.popFirst() {
            guard let thread = Self.letters.firstIndex(of: letter) else { return nil }
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            text = text.dropFirst(digits.count)
            guard let count = Int(digits), (1...1_000_000).contains(count) else { return nil }
            steps += Array(repeating: thread, count: count)
        }
    }

    package var text: String {
        var text = ""
        var rest = steps[...]
        while let thread = rest.first {
            let run = rest.prefix { $0 == thread }.count
            text += "\(Self.letter(of: thread))\(run)"
            rest = rest.dropFirst(run)
        }
        return text
    }

    /// Returns the letter of a thread. The program's threads are a, b, c, …; the threads that they
    /// start are r, s, t, …; x, y and z stand for faults.
    package static func letter(of thread: Int) -> Character { letters[thread] }

    package static let letters: [Character] = Array("abcdefghrstuvwxyz")
    /// The largest number of a program's own threads, and of the threads that these start.
    package static let (programThreads, helperThreads) = (8, 6)
}

extension Schedule: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let schedule = Schedule(text: text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
        }
        self = schedule
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// Runs one schedule again.
package final class Repetition: Strategy {
    private let schedule: Schedule

    /// Set if the schedule names a thread that cannot go on: the schedule does not belong to this
    /// program.
    package private(set) var doesNotFit = false

    package init(_ schedule: Schedule) { self.schedule = schedule }

    package func choose(_ decision: Decision) -> Int {
        guard decision.step < schedule.steps.count else { return decision.usual }
        let thread = schedule.steps[decision.step]
        guard decision.options.contains(thread) else {
            doesNotFit = true
            return decision.usual
        }
        return thread
    }

    package func advance() -> Bool { false }
}
