// SPDX-License-Identifier: Apache-2.0

/// A few threads with a few operations each: small enough to try every schedule.
struct Program {
    let name: String
    /// The names of the operations, thread by thread.
    let threads: [[StaticString]]
    /// Builds what one run works on.
    let make: () -> Instance

    struct Instance {
        /// Runs before the threads, undisturbed.
        var setUp: () -> Void = {}
        /// The operations, thread by thread.
        let threads: [[() -> Void]]
        /// Run when the threads have ended and nothing else can happen, each when the one before
        /// has come to rest.
        var rest: [() -> Void] = []
    }
}

/// Operations that are left out of a program, to find out which a failure needs.
struct Omissions: Equatable, Hashable, Sendable {
    struct Operation: Hashable, Sendable {
        let thread: Int
        let index: Int
    }

    var operations: Set<Operation> = []

    /// Letters and numbers, `a0c1`: the first operation of thread a and the second of c. `none` if
    /// nothing is left out.
    var text: String {
        guard !operations.isEmpty else { return "none" }
        return operations.sorted { ($0.thread, $0.index) < ($1.thread, $1.index) }
            .map { "\(Schedule.letter(of: $0.thread))\($0.index)" }.joined()
    }

    init(_ operations: Set<Operation> = []) { self.operations = operations }

    init?(text: some StringProtocol) {
        if text == "none" { return }
        var text = text[...]
        while let letter = text.popFirst() {
            guard let thread = Schedule.letters.firstIndex(of: letter) else { return nil }
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            text = text.dropFirst(digits.count)
            guard let index = Int(digits) else { return nil }
            operations.insert(Operation(thread: thread, index: index))
        }
    }
}
