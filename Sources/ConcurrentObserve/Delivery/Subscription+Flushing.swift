// SPDX-License-Identifier: Apache-2.0

extension Subscription {
    func withFlushes(_ body: (_ flushes: inout Flushes, _ target: UInt64?) -> Void) {
        withGuarded { guarded in
            let isSettled =
                guarded.mailbox.isClosed ? !guarded.isUncounted : guarded.mailbox.isFlushed && !guarded.isInUse
            body(&guarded.mailbox.flushes, isSettled ? nil : guarded.mailbox.entered)
        }
    }
}
