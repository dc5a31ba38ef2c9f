// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import Foundation

/// Writes to a cluster in which servers break, until `stop()`.
final class Writers: Sendable {
    private let isWriting = Observed(true)
    private let written = Observed(0)
    private let tasks: [Task<Void, Never>]

    /// Tasks for each member, which write there while the member answers.
    init(_ urls: [String], _ prefix: String, tasks: Int = 1) {
        let (isWriting, written) = (isWriting, written)
        self.tasks = urls.map { url in
            Task {
                while isWriting.value {
                    do {
                        try await TestClient.with(url) { client in
                            while isWriting.value {
                                try await withThrowingTaskGroup(of: Void.self) { group in
                                    for _ in 0..<tasks { group.addTask { try await write(20, prefix, client) } }
                                    try await group.waitForAll()
                                }
                                written.modify { $0 += 20 * tasks }
                            }
                        }
                    } catch {
                        // An attempt that fails may have been made: the history has it then.
                        try? await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
        }
    }

    /// How many transactions were confirmed so far; some more may have been made.
    var count: Int { written.value }

    /// Waits until so many more are confirmed.
    func whenWritten(_ more: Int) async throws {
        let target = count + more
        try await eventually("\(more) more transactions") { count >= target }
    }

    func stop() async -> Int {
        isWriting.value = false
        for task in tasks { await task.value }
        return written.value
    }
}
#endif
