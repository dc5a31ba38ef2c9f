// SPDX-License-Identifier: Apache-2.0
//
// A status board: services report their health. Clients read a health, wait for one, or follow all.
//
//   StatusBoard [FILE]    FILE has settings, as {"port": 8080, "maintenance": false}, and is read
//                         again when it changes

import ConcurrentObserve
import ConcurrentObserveConfiguration
import ConcurrentObserveLogging
import ConcurrentObserveMetrics
import ConcurrentObserveServiceLifecycle
import Configuration
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

let logger = Logger(label: "StatusBoard")
let board = Board(
    fetchAdvice: { health in "Runbook: https://status.example/\(health.rawValue)" },
    measureLoad: {
        var load = 0.0
        return getloadavg(&load, 1) == 1 ? load : 0
    }
)

// In this order they start; they end in the reverse one.
var services: [any Service] = [ObservationDrain(), LibraryMetrics(), StuckCallbackWatch(logger: logger)]
var port = 8080
if CommandLine.arguments.count > 1 {
    let file = try await ReloadingFileProvider<JSONSnapshot>(filePath: .init(CommandLine.arguments[1]))
    let config = ConfigReader(provider: file)
    port = config.int(forKey: "port", default: port)
    services += [file, ConfigFollower(board.isUnderMaintenance, key: "maintenance", in: config)]
}
let application = Application(
    router: routes(of: board),
    configuration: .init(address: .hostname("127.0.0.1", port: port)),
    services: services,
    logger: logger
)
try await application.runService()
