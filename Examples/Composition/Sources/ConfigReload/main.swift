// SPDX-License-Identifier: Apache-2.0
//
// Config hot reload with swift-configuration: SIGHUP makes the provider read its file again. A
// request that is being served goes on with the settings that it began with. A file with a mistake
// changes nothing.

#if Configuration
import ConcurrentObserve
import Configuration
import Foundation

let limit = Duration.seconds(60)
let file = FileManager.default.temporaryDirectory.appending(path: "config-\(ProcessInfo.processInfo.processIdentifier)")
defer { try? FileManager.default.removeItem(at: file) }

func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }

func reload(_ text: String) throws {
    try write(text)
    kill(ProcessInfo.processInfo.processIdentifier, SIGHUP)
}

try write(#"{"workers": 4, "timeout": 10}"#)
// The file is looked at every few milliseconds, too, in case that the first signal comes early.
let provider = try await ReloadingFileProvider<JSONSnapshot>(
    filePath: .init(file.path),
    pollInterval: .milliseconds(100)
)
let service = Service(ConfigReader(provider: provider))
// Detached: the main actor waits below.
let running = [Task.detached { try await provider.run() }, Task.detached { try await service.run() }]

print("--- the first file")
print(try await service.settings.first(timeout: limit) { $0.workers == 4 })
print("pool of", try await service.poolSize.first(timeout: limit) { $0 == 4 })

print("--- a file with a mistake, then a good one: one change")
let version = service.settings.version
try reload(#"{"workers": "many", "#)
try await Task.sleep(for: .milliseconds(300))
try reload(#"{"workers": 8}"#)
print(try await service.settings.first(timeout: limit) { $0.workers == 8 }, service.settings.version - version)
print("pool of", try await service.poolSize.first(timeout: limit) { $0 == 8 })

print("--- a request during a reload")
print(
    service.serve {
        try! reload(#"{"workers": 8, "timeout": 5}"#)
        while service.settings.value.timeout != 5 { Thread.sleep(forTimeInterval: 0.001) }
    }
)
print(service.serve {})

for task in running { task.cancel() }
for task in running { _ = await task.result }
#else
print("Build the package with --traits Configuration.")
#endif
