// SPDX-License-Identifier: Apache-2.0
//
// A value of a database as a property: GRDB's ValueObservation sets it after each commit that
// changes the value. Readers of the property do not wait for the database.

#if Database
import ConcurrentObserve
import Dispatch
import GRDB
import Synchronization

struct Player: Codable, FetchableRecord, PersistableRecord, Equatable {
    var name: String
    var score: Int
}

let database = try DatabaseQueue()
try database.write { db in
    try db.create(table: "player") { table in
        table.primaryKey("name", .text)
        table.column("score", .integer).notNull()
    }
}

/// The names of the best three players; nil until they were read for the first time.
let podium = Observed<[String]?>(nil)

let best = ValueObservation.tracking { db in
    try String.fetchAll(db, sql: "SELECT name FROM player ORDER BY score DESC LIMIT 3")
}
// A serial queue: the values arrive in the order of the commits. Without `removeDuplicates`, a
// commit that leaves the names alone would be a change of the property, too.
let watch = best.removeDuplicates().start(
    in: database,
    scheduling: .async(onQueue: DispatchQueue(label: "podium")),
    onError: { error in print("the database fails: \(error)") },
    onChange: { names in podium.value = names }
)

// `first` waits for a value without missing one that came before.
func shows(_ names: [String]) async throws { print(try await podium.first(timeout: .seconds(60)) { $0 == names }!) }

_ = try await podium.first(timeout: .seconds(60)) { $0 != nil }
let history = Mutex<[[String]?]>([])
let changes = podium.observe(delivery: .serial()) { change in history.withLock { $0.append(change.new) } }

print("--- one transaction is one change")
try database.write { db in
    for (name, score) in [("Ada", 7), ("Ben", 5), ("Cleo", 9), ("Dan", 1)] {
        try Player(name: name, score: score).insert(db)
    }
}
try await shows(["Cleo", "Ada", "Ben"])

print("--- a score that changes no place, and one that does")
try database.write { db in try Player(name: "Dan", score: 2).update(db) }
try database.write { db in try Player(name: "Dan", score: 8).update(db) }
try await shows(["Cleo", "Dan", "Ada"])

print("--- after the watch has ended")
watch.cancel()
try database.write { db in _ = try Player.deleteAll(db) }
print(podium.value!)
_ = await changes.cancelAndWait()
print("changes: \(history.withLock { $0.count })")
#else
print("Build the package with --traits Database.")
#endif
