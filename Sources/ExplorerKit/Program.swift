// SPDX-License-Identifier: Apache-2.0

/// A few threads with a few operations each: small enough to try every schedule.
package struct Program {
    package let name: String
    /// The names of the operations, by thread. Each operation begins with a step of that name. If
    /// this is empty, only the code of the operations takes steps.
    package let threads: [[StaticString]]
    /// Makes the objects of one run.
    package let make: () -> Instance

    package struct Instance {
        /// Runs before the threads, without preemptions.
        package var setUp: (() -> Void)?
        /// The operations, by thread.
        package let threads: [[() -> Void]]
        /// The names of the threads; nil if their letters are enough.
        package var names: [String]?
        /// Run one after the other when the threads have ended and nothing else can happen.
        package var rest: [() -> Void]

        package init(
            setUp: (() -> Void)? = nil,
            threads: [[() -> Void]],
            names: [String]? = nil,
            rest: [() -> Void] = []
        ) {
            (self.setUp, self.threads, self.names, self.rest) = (setUp, threads, names, rest)
        }
    }

    package init(name: String, threads: [[StaticString]], make: @escaping () -> Instance) {
        (self.name, self.threads, self.make) = (name, threads, make)
    }
}

/// Operations that are left out of a program, to find out which a failure needs.
package struct Omissions: Equatable, Hashable, Sendable {
    package struct Operation: Hashable, Sendable {
        package let thread: Int
        package let index: Int

        package init(thread: Int, index: Int) { (self.thread, self.index) = (thread, index) }
    }

    package var operations: Set<Operation> = []

    /// The operations as letters and numbers. `a0c1` is the first operation of thread a and the
    /// second of c. `none` if nothing is left out.
    package var text: String {
        guard !operations.isEmpty else { return "none" }
        return operations.sorted { ($0.thread, $0.index) < ($1.thread, $1.index) }
            .map { "\(Schedule.letter(of: $0.thread))\($0.index)" }.joined()
    }

    package init(_ operations: Set<Operation> = []) { self.operations = operations }

    package init?(text: some StringProtocol) {
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
