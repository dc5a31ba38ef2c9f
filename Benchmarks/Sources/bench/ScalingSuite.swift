// SPDX-License-Identifier: Apache-2.0

import Judging
import ConcurrentObserve
import Foundation

/// Costs that grow with the threads that have ever notified, and with the observers of a registry.
/// Meant for larger machines than this one.
enum ScalingSuite {
    static let cases = [1, 4, 16, 64].map(waiting) + [1_000, 10_000, 100_000].map(registering)

    /// Waiting for the end of an observation looks at the record of every living thread that has
    /// notified.
    private static func waiting(_ threads: Int) -> Case {
        Case(
            name: "token.cancelAndWait.beside-\(threads)-threads",
            unit: .microseconds,
            bar: .waitMicroseconds,
            summary: .median,
            isLong: true
        ) { effort in
            // With an observer, or a notification leaves no trace of its thread.
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

    /// One registration more among so many: the tables' growth is part of it, and so is the end of
    /// all.
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

/// A thread that has notified and lives on without doing anything.
private final class IdleThread {
    private let ends = DispatchSemaphore(value: 0)
    private let left = DispatchSemaphore(value: 0)

    init(_ registry: ObserverRegistry<Int>) {
        let notified = DispatchSemaphore(value: 0)
        // A thread of its own: a queue's would run other blocks when it waits.
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
