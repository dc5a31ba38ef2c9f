// SPDX-License-Identifier: Apache-2.0

import Judging
import ConcurrentObserve
import Foundation

/// Measures costs that grow with the number of threads that have ever notified, and with the number
/// of a registry's observers. It is made for machines with more processors.
enum ScalingSuite {
    static let cases = [1, 4, 16, 64].map(waiting) + [1_000, 10_000, 100_000].map(registering)

    /// Returns a case for a wait for the end of an observation. It reads the record of every living
    /// thread that has notified.
    private static func waiting(_ threads: Int) -> Case {
        Case(
            name: "token.cancelAndWait.beside-\(threads)-threads",
            unit: .microseconds,
            bar: .waitMicroseconds,
            summary: .median,
            isLong: true
        ) { effort in
            // Without an observer, a notification would make no record for its thread.
            let observed = ObservedCounters(1)
            let registry = observed.registry
            let idle = (0..<threads).map { _ in IdleThread(registry) }
            let count = effort.work(1_000)
            return Case.Sides(ours: {
                let times = (0..<count).map { _ in
                    let token = registry.observe { _ in }
                    return nanoseconds { token.cancelAndWaitBlocking() } / 1_000
                }
                return withExtendedLifetime((observed, idle)) { times.median }
            })
        }
    }

    /// Returns a case for one more registration among this number of observers. It includes the
    /// growth of the tables, and the end of all.
    private static func registering(_ count: Int) -> Case {
        Case(
            name: "registry.observe.\(count)-observers",
            unit: .nanoseconds,
            bar: .registeredNanoseconds,
            summary: .median,
            isLong: true
        ) { _ in
            Case.Sides(ours: {
                let time = nanoseconds { _ = ObservedCounters(count) } / Double(count)
                ConcurrentObserveDiagnostics.drain()
                return time
            })
        }
    }
}

/// A thread that has notified, and then waits.
private final class IdleThread {
    private let ends = DispatchSemaphore(value: 0)
    private let left = DispatchSemaphore(value: 0)

    init(_ registry: ObserverRegistry<Int>) {
        let notified = DispatchSemaphore(value: 0)
        // It has its own thread. The thread of a queue would run other blocks while this one waits.
        let thread = Thread { [ends, left] in
            registry.notify(1)
            notified.signal()
            ends.wait()
            left.signal()
        }
        thread.stackSize = 1 << 16
        thread.start()
        notified.wait()
    }

    deinit {
        ends.signal()
        left.wait()
    }
}
