// SPDX-License-Identifier: Apache-2.0
//
// Settings that survive a restart: set at memory's speed, written behind to a file, read at the
// start.

import ConcurrentObserve
import Foundation

struct Settings: Codable, Equatable, Sendable {
    var workers = 1
    var greeting = "hello"
}

let folder = FileManager.default.temporaryDirectory.appending(
    path: "settings-\(ProcessInfo.processInfo.processIdentifier)"
)
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let file = folder.appending(path: "settings.json")

func open() throws -> SavedProperty<Settings> {
    try SavedProperty(Settings(), in: file) { error in print("not saved: \(error)") }
}

print("--- the first start")
do {
    let settings = try open()
    print(settings.property.value)
    settings.property.modify { $0.workers = 4 }
    settings.property.modify { $0.greeting = "welcome" }
    try await settings.close(within: .seconds(60))
}

print("--- the second start")
do {
    let settings = try open()
    print(settings.property.value)
    // The setters do not wait for the disk, which sees some of these values, and always the last.
    for workers in 1...10_000 { settings.property.modify { $0.workers = workers } }
    try await settings.close(within: .seconds(60))
}
print("--- the third start")
do {
    let settings = try open()
    print(settings.property.value)
    // Also what only reads must be closed: the observation writes the present value once more, and
    // would write it over what the next lines put into the file.
    try await settings.close(within: .seconds(60))
}

print("--- a damaged file is left as it is")
try Data("{".utf8).write(to: file)
do {
    _ = try open()
} catch {
    print("refused:", error is DecodingError)
}
print(try String(contentsOf: file, encoding: .utf8))
