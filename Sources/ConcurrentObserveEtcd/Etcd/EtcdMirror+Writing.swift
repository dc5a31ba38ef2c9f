// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import Foundation

extension EngineMirror where Engine == EtcdEngine {
    /// Writes a key, if it has not changed since the mirror last saw it. Returns when the mirror
    /// shows the result.
    ///
    /// The mirror may have seen a newer value than the caller has read. To make a value from the
    /// present one, use ``update(_:lease:_:)``, or pass the revision of the entry that was read.
    ///
    /// - Parameters:
    ///   - revision: The revision that the key's value must still have, 0 for a key that must not
    ///     be there; nil for the mirror's.
    ///   - lease: The lease that the key ends with; 0 for none.
    /// - Returns: The revision that brought the value.
    /// - Throws: `MirrorError`: `notShown` has written the value, and the mirror does not show it
    ///   yet; `outcomeUnknown` may have; any other, such as `conflict`, `notConnected`,
    ///   `malformedValue` and `tooLarge`, has written nothing.
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

    /// Deletes a key, if it has not changed since the mirror last saw it. Returns when the mirror
    /// shows it. A key that is not there is no error: nothing is written then.
    ///
    /// - Parameter revision: As in ``set(_:for:ifRevision:lease:)``.
    /// - Returns: The revision after which the key is not there.
    /// - Throws: As ``set(_:for:ifRevision:lease:)``.
    @discardableResult
    public func remove(_ key: MirrorKey, ifRevision revision: Int64? = nil) async throws -> Int64 {
        try checkRange(key)
        var deletion = Etcdserverpb_RequestOp()
        deletion.requestDeleteRange.key = Data(key.bytes)
        return try await change(key, deletion, ifRevision: revision)
    }

    /// Changes a key's value to one that is made of it: no change by others is lost. Returns when
    /// the mirror shows the result.
    ///
    /// - Parameter body: Receives the last good value, or nil. It is called again, with the newer
    ///   value, when another change comes first.
    /// - Returns: The revision that brought the value.
    /// - Throws: The error that `body` throws; otherwise as ``set(_:for:ifRevision:lease:)``, with
    ///   `behind` in place of `conflict`: another change came first, and the mirror did not get it
    ///   within ``MirrorConfiguration/requestTimeout``.
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
                // Only the change that came first makes another attempt worth it.
                try await waitForChange(of: key, after: seen)
                // Mirrors that have received it together do not write together.
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
        // A deletion of what is not there has no revision of its own.
        if case .responseDeleteRange(let deletion)? = answer.responses.first?.response, deletion.deleted == 0 {
            return answer.header.revision
        }
        try await waitUntilShown(answer.header.revision)
        return answer.header.revision
    }
}

extension MirrorContents {
    /// The revision of a key's present value, a malformed one included; 0 if the key is not there.
    fileprivate func shownRevision(of key: MirrorKey) -> Int64 {
        errors[key]?.revision ?? entries[key]?.revision ?? 0
    }
}
#endif
