// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import HashTreeCollections

/// The state that a mirror has received from its engine. One task changes it; any thread may read
/// it.
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

    /// The keys at a position: `records` has every change to the range up to `position`.
    struct Known: Sendable {
        var position: Int64 = 0
        var history: UInt64 = 0
        var records = TreeDictionary<MirrorKey, Record>()
    }

    private struct KeyProperty {
        let property: Observed<Value?>
        /// The version of the contents that the property shows. It is not a revision, because an
        /// engine that lost data uses a revision a second time.
        var version: UInt64
    }

    let contents: Observed<MirrorContents<Value>>
    /// The position. It is set after the contents: a reader that sees a position also sees its
    /// contents.
    let position: Observed<Int64>
    private let known = Shared(Known())
    private let properties = Shared<[MirrorKey: KeyProperty]>([:])
    private let coding: MirrorCoding<Value>

    init(coding: MirrorCoding<Value>, label: String) {
        self.coding = coding
        contents = Observed(MirrorContents(), label: label)
        position = Observed(0)
    }

    /// A copy of everything that is known at one position. Later changes do not affect the copy.
    var snapshot: Known { known.withLock { $0 } }

    var keyCount: Int { known.withLock { $0.records.count } }

    func revision(of key: MirrorKey) -> Int64 { known.withLock { $0.records[key]?.revision ?? 0 } }

    /// Returns the property that shows one key. It is the same property for each call.
    func property(_ key: MirrorKey) -> Observed<Value?> {
        properties.withLock { properties in
            if let known = properties[key] { return known.property }
            // The contents are read under the lock: `publish` sets them before it looks for
            // properties.
            let (contents, version) = contents.snapshot()
            let property = Observed(contents[key])
            properties[key] = KeyProperty(property: property, version: version)
            return property
        }
    }

    /// Changes the contents to the keys of a list. If no key has changed, the contents do not
    /// change, unless this is the first list.
    ///
    /// - Returns: The number of changed keys, and the errors of those whose value is malformed.
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
        // The first list is published even without keys: it shows that there are none.
        var malformed: [MirrorValueError] = []
        if !changed.isEmpty || before.position == 0 {
            malformed = publish(changed, revision: moment.revision, isFromList: true)
        }
        position.value = moment.revision
        return (changed.count, malformed)
    }

    /// Applies the changes of one revision to the contents.
    ///
    /// - Returns: The errors of the values that are malformed.
    func apply(_ items: [MirrorItem], revision: Int64) -> [MirrorValueError] {
        known.withLock { known in
            for item in items { known.records[item.key] = item.value == nil ? nil : Record(item) }
            known.position = revision
        }
        let malformed = publish(items, revision: revision, isFromList: false)
        position.value = revision
        return malformed
    }

    /// Notes that no key has changed up to a revision.
    func complete(upTo revision: Int64) {
        known.withLock { $0.position = revision }
        position.value = revision
    }

    /// Publishes the changes of one revision or list. Only this function changes the contents. The
    /// property `contents` changes first, then the properties of single keys, one after another. A
    /// commit of several properties would make these one change.
    private func publish(_ items: [MirrorItem], revision: Int64, isFromList: Bool) -> [MirrorValueError] {
        var next = contents.value
        let malformed = items.compactMap { decode($0, into: &next) }
        next.revision = revision
        next.isFromList = isFromList
        contents.value = next
        let version = contents.version
        // The properties are found under the lock, and set outside it, since setting calls the
        // user's observers.
        let stale = properties.withLock { properties in
            var stale: [(Observed<Value?>, MirrorKey)] = []
            for item in items {
                // A property that has this version was made from these contents.
                guard let known = properties[item.key], known.version != version else { continue }
                properties[item.key]?.version = version
                stale.append((known.property, item.key))
            }
            return stale
        }
        for (property, key) in stale { property.value = next[key] }
        return malformed
    }

    /// Decodes a value into the contents.
    ///
    /// - Returns: The error if the value is malformed; otherwise nil.
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
