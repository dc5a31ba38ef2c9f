// SPDX-License-Identifier: Apache-2.0

extension Subscription {
    /// Resumes the task under the lock.
    @usableFromInline
    func resume(_ guarded: inout Guarded) -> Resumption? {
        if let resumption = takeResumption(&guarded) { resumption.waiter.resume(returning: resumption.event) }
        return nil
    }
}
