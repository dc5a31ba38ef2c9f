// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import Foundation

/// Writes to a cluster in which servers break, until `stop()`.
final class Writers: Sendable {
    private let isWriting = Observed(true)
    private let written = Observed(0)
    private let tasks: [Task<Void, Never>]

    /// One task for each member, which writes there while the member answers.
    init(_ urls: [String], _ prefix: String) {
        let (isWriting, written) = (isWriting, written)
        tasks = urls.map { url in
            Task {
                while isWriting.value {
                    do {
                        try await TestClient.with(url) { client in
                            while isWriting.value {
                                try await write(20, prefix, client)
                                written.modify { $0 += 20 }
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

    func stop() async -> Int {
        isWriting.value = false
        for task in tasks { await task.value }
        return written.value
    }
}
#endif
