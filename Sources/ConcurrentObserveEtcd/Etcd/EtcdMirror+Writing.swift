// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import Foundation

extension EngineMirror where Engine == EtcdEngine {
    /// Writes a key, if it has not changed since the mirror last received it. Returns when the
    /// mirror shows the result.
    ///
    /// The mirror may have received a newer value than the caller has read. To compute a value from
    /// the present one, use ``update(_:lease:_:)``, or pass the revision of the entry that was
    /// read.
    ///
    /// - Parameters:
    ///   - revision: The revision that the key must still have; 0 for a key that must not exist;
    ///     nil for the revision that the mirror has received.
    ///   - lease: The lease whose end deletes the key; 0 for none.
    /// - Returns: The revision of the new value.
    /// - Throws: `MirrorError`. With `notShown`, the value was written, but the mirror does not
    ///   show it yet. With `outcomeUnknown`, the value may have been written. With any other code,
    ///   such as `conflict`, `notConnected`, `malformedValue` and `tooLarge`, nothing was written.
    ///   `CancellationError` if the task is cancelled: the value may have been written.
    @discardableResult
    public func set(
        _ value: Value,
        for key: MirrorKey,
        ifRevision revision: Int64? = nil,
        lease: Int64 = 0
    ) async throws -> Int64 {
        var put = try put(value, for: key)
        put.requestPut.lease = lease
        return try await change(key, put, ifRevision: revision)
    }

    /// Deletes a key, if it has not changed since the mirror last received it. Returns when the
    /// mirror shows the deletion. If the key does not exist, and is not expected to, nothing is
    /// written, and the call succeeds.
    ///
    /// - Parameter revision: The revision that the key must still have; 0 for a key that must not
    ///   exist; nil for the revision that the mirror has received.
    /// - Returns: The revision of the deletion, or etcd's present revision if nothing was written.
    /// - Throws: `MirrorError`. With `notShown`, the key was deleted, but the mirror does not show
    ///   that yet. With `outcomeUnknown`, the key may have been deleted. With any other code, such
    ///   as `conflict` and `notConnected`, nothing was written. `CancellationError` if the task is
    ///   cancelled: the key may have been deleted.
    @discardableResult
    public func remove(_ key: MirrorKey, ifRevision revision: Int64? = nil) async throws -> Int64 {
        try checkRange(key)
        var deletion = Etcdserverpb_RequestOp()
        deletion.requestDeleteRange.key = Data(key.bytes)
        return try await change(key, deletion, ifRevision: revision)
    }

    /// Replaces a key's value by one that is computed from it. No change that another writer makes
    /// is lost. Returns when the mirror shows the result.
    ///
    /// - Parameters:
    ///   - lease: The lease whose end deletes the key; 0 for none.
    ///   - body: Receives the last good value, or nil if there is none, and returns the new value.
    ///     It is called again with the newer value if another change comes first.
    /// - Returns: The revision of the new value.
    /// - Throws: The error that `body` throws. Otherwise an error of
    ///   ``set(_:for:ifRevision:lease:)``, except `conflict`. If another change came first, and the
    ///   mirror did not receive it within ``MirrorConfiguration/requestTimeout``, the code is
    ///   `behind`, and nothing was written.
    @discardableResult
    public func update(
        _ key: MirrorKey,
        lease: Int64 = 0,
        _ body: (Value?) throws -> Value
    ) async throws -> Int64 {
        while true {
            let contents = contents.value
            let seen = contents.shownRevision(of: key)
            do {
                return try await set(try body(contents[key]), for: key, ifRevision: seen, lease: lease)
            } catch let error as MirrorError where error.code == .conflict {
                // Another attempt can only succeed when the mirror has the change that came first.
                try await waitForChange(of: key, after: seen)
                // A random pause: mirrors that received the change together do not write together.
                try await clock.sleep(for: .milliseconds(Int64.random(in: 1...10)))
            }
        }
    }

    private func waitForChange(of key: MirrorKey, after seen: Int64) async throws {
        do {
            try await wait(
                for: contents,
                within: configuration.requestTimeout,
                "the change that came first has not come"
            ) {
                $0.shownRevision(of: key) != seen
            }
        } catch let error as MirrorError {
            throw MirrorError(.behind, "another change came first, and nothing was written: \(error)")
        }
    }

    private func change(_ key: MirrorKey, _ change: Etcdserverpb_RequestOp, ifRevision expected: Int64?) async throws
        -> Int64
    {
        let answer = try await commit([change], ifRevisions: [key: expected ?? store.revision(of: key)])
        // If nothing was deleted, no revision has to be shown.
        if case .responseDeleteRange(let deletion)? = answer.responses.first?.response, deletion.deleted == 0 {
            return answer.header.revision
        }
        try await waitUntilShown(answer.header.revision)
        return answer.header.revision
    }
}

extension MirrorContents {
    /// The revision of a key's present value, also of a malformed one; 0 if the key does not exist.
    fileprivate func shownRevision(of key: MirrorKey) -> Int64 {
        errors[key]?.revision ?? entries[key]?.revision ?? 0
    }
}
#endif
