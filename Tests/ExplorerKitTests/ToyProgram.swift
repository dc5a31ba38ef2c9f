// SPDX-License-Identifier: Apache-2.0

@testable import ExplorerKit

extension Program {
    /// Threads that take so many steps each, and do nothing.
    static func steps(_ counts: [Int], _ log: @escaping @Sendable (Int) -> Void = { _ in }) -> Program {
        Program(name: "steps", threads: counts.map { Array(repeating: "step", count: $0) }) {
            Instance(
                threads: counts.enumerated().map { thread, count in Array(repeating: { log(thread) }, count: count) }
            )
        }
    }

    /// Threads that add one to a number, in two steps; none of it may be lost.
    static func lostUpdate(threads: Int, additions: Int = 1) -> Program {
        Program(
            name: "lost-update",
            threads: Array(repeating: Array(repeating: "add", count: additions), count: threads)
        ) {
            let number = Shared(0)
            let done = Shared(0)
            let add = {
                let seen = number.value
                exploredStep("write")
                number.value = seen + 1
                done.value += 1
            }
            return Instance(
                threads: Array(repeating: Array(repeating: add, count: additions), count: threads),
                rest: [
                    {
                        if number.value != done.value {
                            ScheduledThread.current!.scheduler.fail("toy.sum", "\(number.value) of \(done.value)")
                        }
                    }
                ]
            )
        }
    }

    /// A thread that asks so many times whether it is refused something.
    static func asking(_ times: Int, _ refused: Shared<[Bool]>) -> Program {
        Program(name: "ask", threads: [Array(repeating: "ask", count: times)]) {
            let ask = {
                let thread = ScheduledThread.current!
                refused.value.append(thread.scheduler.goesWrong(thread, toyFault))
            }
            return Instance(threads: [Array(repeating: ask, count: times)])
        }
    }

    /// Two threads that take two locks, in this order and the other.
    static var opposedLocks: Program {
        Program(name: "opposed-locks", threads: [["both"], ["both"]]) {
            let locks = [Shared(false), Shared(false)]
            func take(_ lock: Shared<Bool>) {
                exploredStep("lock")
                let thread = ScheduledThread.current!
                thread.scheduler.wait(thread, "lock") { !lock.value }
                lock.value = true
            }
            func both(_ first: Shared<Bool>, _ second: Shared<Bool>) {
                take(first)
                take(second)
                second.value = false
                first.value = false
            }
            return Instance(threads: [[{ both(locks[0], locks[1]) }], [{ both(locks[1], locks[0]) }]])
        }
    }

    /// A thread that looks for a flag which no thread sets once the other has cleared it.
    static var lostFlag: Program {
        Program(name: "lost-flag", threads: [["wait"], ["clear"]]) {
            let flag = Shared(true)
            return Instance(
                threads: [
                    [
                        {
                            while !flag.value {
                                let thread = ScheduledThread.current!
                                thread.scheduler.pause(thread)
                            }
                        }
                    ],
                    [{ flag.value = false }],
                ]
            )
        }
    }
}

/// State that toys share: it belongs to the running thread.
final class Shared<Value>: @unchecked Sendable {
    // Unchecked: one thread runs at a time.
    var value: Value
    init(_ value: Value) { self.value = value }
}

let toyFault = Fault("x", "refused")
