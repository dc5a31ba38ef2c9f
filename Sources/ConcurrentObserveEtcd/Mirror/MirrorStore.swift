// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import HashTreeCollections

/// The state that a mirror has learnt. One task changes it; any thread reads it.
final class MirrorStore<Value: Sendable>: Sendable {
    /// Identifies a key's present value, good or malformed, without its bytes.
    struct Record: Sendable, Equatable {
        let revision: Int64
        let counts: MirrorCounts
        let hash: Int

        init(_ item: MirrorItem) {
            revision = item.revision
            counts = item.counts
            hash = item.value.hashValue
        }
    }

    /// Everything up to `position` that concerns the range is in `records`.
    struct Known: Sendable {
        var position: Int64 = 0
        var history: UInt64 = 0
        var records = TreeDictionary<MirrorKey, Record>()
    }

    private struct KeyProperty {
        let property: Observed<Value?>
        /// The version of the contents that the property shows. No revision: where the engine lost
        /// its data, one comes a second time.
        var version: UInt64
    }

    let contents: Observed<MirrorContents<Value>>
    /// The position, set after the contents: a reader that sees a position sees its contents, too.
    let position: Observed<Int64>
    private let known = Shared(Known())
    private let properties = Shared<[MirrorKey: KeyProperty]>([:])
    private let coding: MirrorCoding<Value>

    init(coding: MirrorCoding<Value>, label: String) {
        self.coding = coding
        contents = Observed(MirrorContents(), label: label)
        position = Observed(0)
    }

    /// A copy of all that is known at one position. Later changes do not touch the copy.
    var snapshot: Known { known.withLock { $0 } }

    var keyCount: Int { known.withLock { $0.records.count } }

    func revision(of key: MirrorKey) -> Int64 { known.withLock { $0.records[key]?.revision ?? 0 } }

    /// A property that shows one key, the same for each call.
    func property(_ key: MirrorKey) -> Observed<Value?> {
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
    /// - Returns: How many keys were changed, and which of their values are malformed.
    func applyList(_ listed: [MirrorItem], of moment: MirrorMoment) -> (changed: Int, malformed: [MirrorValueError]) {
        let before = snapshot
        var records = TreeDictionary<MirrorKey, Record>()
        var changed: [MirrorItem] = []
        for item in listed {
            let record = Record(item)
            records[item.key] = record
            if before.records[item.key] != record { changed.append(item) }
        }
        for (key, _) in before.records where records[key] == nil {
            changed.append(MirrorItem(key: key, value: nil, revision: moment.revision))
        }
        known.withLock { $0 = Known(position: moment.revision, history: moment.history, records: records) }
        // The first list shows that there are no keys, too.
        var malformed: [MirrorValueError] = []
        if !changed.isEmpty || before.position == 0 {
            malformed = publish(changed, revision: moment.revision, isFromList: true)
        }
        position.value = moment.revision
        return (changed.count, malformed)
    }

    /// Changes to what one revision brought.
    ///
    /// - Returns: Which of the values are malformed.
    func apply(_ items: [MirrorItem], revision: Int64) -> [MirrorValueError] {
        known.withLock { known in
            for item in items { known.records[item.key] = item.value == nil ? nil : Record(item) }
            known.position = revision
        }
        let malformed = publish(items, revision: revision, isFromList: false)
        position.value = revision
        return malformed
    }

    /// Notes that nothing has changed up to a revision.
    func complete(upTo revision: Int64) {
        known.withLock { $0.position = revision }
        position.value = revision
    }

    /// The one function in which a revision becomes a change in the process: first of the contents,
    /// then of the properties of single keys, one after the other. A commit of several properties
    /// would make these one change.
    private func publish(_ items: [MirrorItem], revision: Int64, isFromList: Bool) -> [MirrorValueError] {
        var next = contents.value
        let malformed = items.compactMap { decode($0, into: &next) }
        next.revision = revision
        next.isFromList = isFromList
        contents.value = next
        let version = contents.version
        // Decided under the lock; set outside it, since setting calls the user's observers.
        let stale = properties.withLock { properties in
            var stale: [(Observed<Value?>, MirrorKey)] = []
            for item in items {
                // A property with an equal version was made from these contents.
                guard let known = properties[item.key], known.version != version else { continue }
                properties[item.key]?.version = version
                stale.append((known.property, item.key))
            }
            return stale
        }
        for (property, key) in stale { property.value = next[key] }
        return malformed
    }

    /// - Returns: The error in the value; nil if there is none.
    private func decode(_ item: MirrorItem, into contents: inout MirrorContents<Value>) -> MirrorValueError? {
        guard let bytes = item.value else {
            contents.entries[item.key] = nil
            contents.errors[item.key] = nil
            return nil
        }
        do {
            let value = try coding.decode(item.key, bytes)
            contents.entries[item.key] = MirrorEntry(value: value, revision: item.revision, counts: item.counts)
            contents.errors[item.key] = nil
            return nil
        } catch {
            let error = MirrorValueError(key: item.key, revision: item.revision, underlying: error)
            contents.errors[item.key] = error
            return error
        }
    }

    func encode(_ value: Value) throws -> [UInt8] {
        do {
            return try coding.encode(value)
        } catch {
            throw MirrorError(.malformedValue, "the value cannot be encoded: \(error)")
        }
    }
}
#endif
