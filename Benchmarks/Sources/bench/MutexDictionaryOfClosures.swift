// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The usual way to register and to cancel: a dictionary of closures behind a mutex. A token has
/// the number of its closure.
final class MutexDictionaryOfClosures: Sendable {
    private struct State {
        var next = 0
        var closures: [Int: @Sendable (Int) -> Void] = [:]
    }

    /// Removes its closure once, when it is cancelled or released.
    final class Token: Sendable {
        private let list: MutexDictionaryOfClosures
        private let number: Int

        fileprivate init(_ list: MutexDictionaryOfClosures, _ number: Int) { (self.list, self.number) = (list, number) }

        deinit { cancel() }

        func cancel() {
            // The closure is destroyed outside the lock.
            _ = list.state.withLock { $0.closures.removeValue(forKey: number) }
        }
    }

    private let state = Mutex(State())

    func observe(_ body: @escaping @Sendable (Int) -> Void) -> Token {
        let number = state.withLock { state in
            state.next += 1
            state.closures[state.next] = body
            return state.next
        }
        return Token(self, number)
    }
}
