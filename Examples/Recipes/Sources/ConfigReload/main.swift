// SPDX-License-Identifier: Apache-2.0
//
// Config hot reload: SIGHUP makes the service read its file again. A request that is being served
// goes on with the configuration that it began with. A file with a mistake changes nothing.

import ConcurrentObserve
import Foundation

let service = Service()
let file = FileManager.default.temporaryDirectory.appending(path: "config-\(ProcessInfo.processInfo.processIdentifier)")
defer { try? FileManager.default.removeItem(at: file) }

let resized = service.configuration.bind(to: service.poolSize) { configuration in configuration.workers }
let logged = service.configuration.observe { change in
    guard let old = change.old else { return }
    let new = change.new
    if old.workers != new.workers { print("workers: \(old.workers) → \(new.workers)") }
    if old.timeout != new.timeout { print("timeout: \(old.timeout) → \(new.timeout)") }
}

let hangUps = service.reloadOnHangUp(from: file)

func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }

do {
    var reloads = service.reloads.values().makeAsyncIterator()
    for text in ["workers = 4\ntimeout = 10\n", "workers = 4\ntimeout = 10\n", "workers = many\n", "workers = 8\n"] {
        print("--- \(text.split(separator: "\n").joined(separator: ", "))")
        try write(text)
        kill(ProcessInfo.processInfo.processIdentifier, SIGHUP)
        let reload = await reloads.next()!
        print("reload \(reload): version \(service.configuration.version), pool of \(service.poolSize.value)")
    }
}

print("--- a request during a reload")
try write("timeout = 5\n")
print(service.serve { service.reload(from: file) })
print(service.serve {})
withExtendedLifetime((resized, logged, hangUps)) {}
