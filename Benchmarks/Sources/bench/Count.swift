// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CReference
import ConcurrentObserve
import Foundation

/// Runs each operation many times, and prints its allocations. `Scripts/check-counts.sh` runs it
/// under callgrind, which counts the instructions.
///
/// There is a line for each operation, in order, with columns separated by tabulators: the name,
/// the number of runs, the calls of the allocator, and the largest accepted numbers of instructions
/// and calls for each run (`-` if it is counted for comparison).
struct Count: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count",
        abstract: "Run the operations that Scripts/check-counts.sh counts.",
        discussion: "Exit codes: 0 done, 1 wrong usage, 4 there is no membarrier, for which the bounds are."
    )

    @Flag(
        help: """
            Add work to each operation, to see the check fail: a hundred instructions, or its bound if that is more; and one \
            allocation too many.
            """
    )
    var plant = false

    @Option(help: ArgumentHelp("Count the operations whose names contain this.", valueName: "text"))
    var only: String?

    func run() throws {
        guard ConcurrentObserveDiagnostics.current().usesMembarrier else {
            FileHandle.standardError.write(Data("bench: the bounds are for a kernel with membarrier\n".utf8))
            throw ExitCode(4)
        }
        for operation in CountedOperation.all where only.map(operation.name.contains) ?? true {
            let calls = Counter.watched(
                operation.name,
                areCalled: true,
                prepare: operation.prepare,
                measure: { allocations(of: operation, $0) }
            )
            let bounds = operation.most.map { "\($0.instructions)\t\($0.allocations)" } ?? "-\t-"
            print("\(operation.name)\t\(operation.times)\t\(calls)\t\(bounds)")
        }
    }

    private func allocations(of operation: CountedOperation, _ body: @escaping (_ times: Int) -> Void) -> Int {
        // The first run makes allocations that happen only once: a thread's record, metadata, and
        // the binding of functions in other libraries.
        body(operation.times)
        ConcurrentObserveDiagnostics.drain()
        let counted = Box {
            body(operation.times)
            if plant, let most = operation.most { Self.spend(most, operation.times) }
        }
        let before = creference_thread_allocations()
        counted.run()
        return creference_thread_allocations() - before
    }

    /// Does more work than the bounds allow, for this number of operations.
    private static func spend(_ most: CountedOperation.Most, _ times: Int) {
        for _ in 0..<times {
            creference_spend_instructions(max(100, most.instructions))
            for _ in 0...Int(most.allocations) { creference_spend_allocation() }
        }
    }

    /// A closure for the one function inside which callgrind counts. It counts on the thread that
    /// runs this function.
    private final class Box {
        private let body: () -> Void

        init(_ body: @escaping () -> Void) { self.body = body }

        func run() {
            creference_counted(
                { Unmanaged<Box>.fromOpaque($0).takeUnretainedValue().body() },
                Unmanaged.passUnretained(self).toOpaque()
            )
        }
    }
}
