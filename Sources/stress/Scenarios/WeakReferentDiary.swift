// SPDX-License-Identifier: Apache-2.0

/// The referents and weak properties that one thread has used, in order.
final class Diary {
    /// A change of a weak property, as its first observer received it on this thread.
    struct Entry {
        let property: Int
        let version: UInt64
        let old: UInt64?
        let new: UInt64?
        /// Whether this thread was setting the property. Otherwise a referent has died on it.
        let isSetting: Bool
        /// The number of referents that had died on this thread before.
        let deathsBefore: Int
    }

    var births = 0
    /// The serial numbers of the referents that have died on this thread.
    var deaths: [UInt64] = []
    /// The referent that this thread has read and is about to release.
    var reading: UInt64?
    /// The value to which this thread is setting each property, until that change is delivered.
    var settings: [UInt64??] = [nil, nil]
    private(set) var entries: [Entry] = []
    /// Describes a value that the first observer received instead of the value that this thread had
    /// set; nil if there is none.
    private(set) var mistake: String?

    func note(_ change: Change<Mortal?>, property: Int) {
        let (old, new) = (change.old.flatMap(\.self)?.serial, change.new?.serial)
        if let set = settings[property], set != new {
            mistake = "\(String(describing: new)) was delivered when \(String(describing: set)) was set"
        }
        entries.append(
            Entry(
                property: property,
                version: change.version,
                old: old,
                new: new,
                isSetting: settings[property] != nil,
                deathsBefore: deaths.count
            )
        )
        settings[property] = nil
    }
}

/// The diaries of a round: one for each of its threads, and one for all other threads.
final class Diaries: @unchecked Sendable {
    // Unchecked: each thread has its own. The round's thread reads them after it has joined the
    // others.
    private let diaries: [Diary]
    private let others = Guarded(Diary())

    init(threads: Int) { diaries = (0..<threads).map { _ in Diary() } }

    /// Calls `body` with the calling thread's diary.
    func write<Result>(_ body: (Diary) -> Result) -> Result {
        guard let worker = Worker.current else { return others.withLock { body($0) } }
        return body(diaries[worker.index])
    }

    /// All diaries. Read it at rest.
    var all: [Diary] { diaries + [others.withLock { $0 }] }
}

// MARK: - At rest

extension Round {
    /// Checks the diaries of all threads, when only the survivors among the referents have an
    /// owner.
    func check(_ diaries: Diaries, _ properties: [WeakObserved<Mortal>], survivors: Int) {
        guard violations.isEmpty else { return }
        let all = diaries.all
        for case .some(let mistake) in all.map(\.mistake) { check(false, "P2.weak-chain", mistake) }
        let alive = all.reduce(0) { $0 + $1.births - $1.deaths.count }
        check(alive == survivors, "P11.not-retained", "\(alive - survivors) referents without an owner are alive")
        for (index, property) in properties.enumerated() {
            let entries = all.enumerated().flatMap { diary, pages in
                pages.entries.lazy.filter { $0.property == index }.map { (entry: $0, diary: diary) }
            }.sorted { $0.entry.version < $1.entry.version }
            check(entries.map(\.entry.version).elementsEqual(1..<(property.version + 1)), "P2.weak-chain") {
                "the first observer received \(entries.count) changes of \(property.version)"
            }
            checkChain(entries, all)
            check(entries.last?.entry.new == nil && property.value == nil, "P12.nil-once") {
                "a property's referent is dead, and its observers were not notified"
            }
        }
    }

    private func checkChain(_ entries: [(entry: Diary.Entry, diary: Int)], _ all: [Diary]) {
        var present: UInt64?
        for (entry, diary) in entries {
            guard violations.isEmpty else { return }
            check(entry.old == nil || entry.old == present, "P2.weak-chain") {
                "version \(entry.version) replaced something else than what was there"
            }
            if entry.isSetting {
                if entry.old == nil, present != nil { workers.first?.hit(1) }
            } else {
                workers.first?.hit(0)
                checkDeath(of: present, entry, all[diary])
            }
            present = entry.new
        }
    }

    /// Checks a change that no writer has made: a change to nil, because the referent has died on
    /// the thread that delivers the change.
    private func checkDeath(of referent: UInt64?, _ entry: Diary.Entry, _ diary: Diary) {
        check(referent != nil && entry.old == nil && entry.new == nil, "P12.nil-once") {
            "version \(entry.version) was set by no writer and is not the death of what was there"
        }
        guard let referent else { return }
        // In most cases it is among the last ones. The referents that died there later are those
        // that its callbacks released.
        check(diary.deaths[..<entry.deathsBefore].reversed().contains(referent), "P12.successor-stays") {
            "version \(entry.version) became nil, and what it referred to had not died on that thread"
        }
    }
}
