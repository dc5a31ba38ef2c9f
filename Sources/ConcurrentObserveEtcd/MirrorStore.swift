// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve

/// What a mirror knows. One task changes it; any thread reads it.
final class MirrorStore<Value: Sendable>: Sendable {
    /// What identifies a key's present value, good or malformed, without its bytes.
    struct Record: Sendable, Equatable {
        let modRevision: Int64
        let createRevision: Int64
        let version: Int64
        let lease: Int64
        let hash: Int

        init(_ event: KeyEvent) {
            modRevision = event.modRevision
            createRevision = event.createRevision
            version = event.version
            lease = event.lease
            hash = event.value.hashValue
        }
    }

    /// Everything up to `position` that concerns the range is in `records`.
    struct Known: Sendable {
        var position: Int64 = 0
        var clusterID: UInt64 = 0
        var records: [EtcdKey: Record] = [:]
    }

    private struct KeyProperty {
        let property: Observed<Value?>
        /// The version of the contents that the property shows. No revision: where etcd lost its data, one comes a second time.
        var version: UInt64
    }

    let contents: Observed<EtcdContents<Value>>
    /// The position, set after the contents: a reader that sees a position sees its contents, too.
    let position: Observed<Int64>
    private let known = Shared(Known())
    private let properties = Shared<[EtcdKey: KeyProperty]>([:])
    private let coding: EtcdCoding<Value>

    init(coding: EtcdCoding<Value>, label: String) {
        self.coding = coding
        contents = Observed(EtcdContents(), label: label)
        position = Observed(0)
    }

    /// A copy of what is known: of one position, whatever comes meanwhile.
    var snapshot: Known { known.withLock { $0 } }

    var keyCount: Int { known.withLock { $0.records.count } }

    func modRevision(of key: EtcdKey) -> Int64 { known.withLock { $0.records[key]?.modRevision ?? 0 } }

    /// A property that shows one key, the same for each call.
    func property(_ key: EtcdKey) -> Observed<Value?> {
        properties.withLock { properties in
            if let known = properties[key] { return known.property }
            // Read under the lock: `publish` sets the contents before it looks for properties.
            let (contents, version) = contents.snapshot()
            let property = Observed(contents[key])
            properties[key] = KeyProperty(property: property, version: version)
            return property
        }
    }

    /// Changes to what a list found. No key has changed: no change in the process.
    ///
    /// - Returns: How many keys were changed.
    func applyList(_ listed: [KeyEvent], revision: Int64, clusterID: UInt64) -> Int {
        let before = snapshot
        var records: [EtcdKey: Record] = [:]
        var changed: [KeyEvent] = []
        for event in listed {
            let record = Record(event)
            records[event.key] = record
            if before.records[event.key] != record { changed.append(event) }
        }
        for key in before.records.keys where records[key] == nil { changed.append(.deletion(of: key, at: revision)) }
        known.withLock { $0 = Known(position: revision, clusterID: clusterID, records: records) }
        // The first list shows that there are no keys, too.
        if !changed.isEmpty || before.position == 0 { publish(changed, revision: revision, isFromList: true) }
        position.value = revision
        return changed.count
    }

    /// Changes to what one revision brought.
    func apply(_ revision: RevisionEvents) {
        known.withLock { known in
            for event in revision.events {
                known.records[event.key] = event.value == nil ? nil : Record(event)
            }
            known.position = revision.revision
        }
        publish(revision.events, revision: revision.revision, isFromList: false)
        position.value = revision.revision
    }

    /// Notes that nothing has changed up to a revision.
    func bookmark(_ revision: Int64) {
        known.withLock { $0.position = revision }
        position.value = revision
    }

    /// The one function in which a revision becomes a change in the process: first of the contents, then of the properties of single keys,
    /// one after the other. A commit of several properties would make these one change.
    private func publish(_ events: [KeyEvent], revision: Int64, isFromList: Bool) {
        var next = contents.value
        for event in events { decode(event, into: &next) }
        next.revision = revision
        next.isFromList = isFromList
        contents.value = next
        let version = contents.version
        // Decided under the lock; set outside it, since setting calls the user's observers.
        let stale = properties.withLock { properties in
            var stale: [(Observed<Value?>, EtcdKey)] = []
            for event in events {
                // Of an equal version: made from these contents.
                guard let known = properties[event.key], known.version != version else { continue }
                properties[event.key]?.version = version
                stale.append((known.property, event.key))
            }
            return stale
        }
        for (property, key) in stale { property.value = next[key] }
    }

    private func decode(_ event: KeyEvent, into contents: inout EtcdContents<Value>) {
        guard let bytes = event.value else {
            contents.entries[event.key] = nil
            contents.errors[event.key] = nil
            return
        }
        do {
            contents.entries[event.key] = EtcdEntry(
                value: try coding.decode(event.key, bytes),
                createRevision: event.createRevision,
                modRevision: event.modRevision,
                version: event.version,
                lease: event.lease
            )
            contents.errors[event.key] = nil
        } catch {
            contents.errors[event.key] = EtcdValueError(key: event.key, revision: event.modRevision, underlying: error)
        }
    }

    func encode(_ value: Value) throws -> [UInt8] {
        do {
            return try coding.encode(value)
        } catch {
            throw EtcdMirrorError(.malformedValue, "the value cannot be encoded: \(error)")
        }
    }
}

extension KeyEvent {
    static func deletion(of key: EtcdKey, at revision: Int64) -> KeyEvent {
        KeyEvent(key: key, value: nil, modRevision: revision, createRevision: 0, version: 0, lease: 0)
    }
}
#endif
