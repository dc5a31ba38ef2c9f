// SPDX-License-Identifier: Apache-2.0
//
// A document of another service as a property, polled with AsyncHTTPClient. Requests read the last
// good document without waiting for the network.

#if HTTPClient
import ConcurrentObserve

struct Prices: Codable, Equatable, Sendable {
    var tea: Int
}

let limit = Duration.seconds(60)
let server = Server()
server.content.withLock { $0.replace(by: #"{"tea": 300}"#) }
let prices = PolledDocument<Prices>(try await server.start())
let polling = Task { try await prices.poll(every: .milliseconds(5)) }

let tea = Derived(prices.document) { $0?.tea }

print("--- the first document")
print("tea:", try await tea.first(timeout: limit) { $0 == 300 }!)

print("--- another document")
server.content.withLock { $0.replace(by: #"{"tea": 350}"#) }
print("tea:", try await tea.first(timeout: limit) { $0 == 350 }!)

print("--- the server fails, then answers nonsense: the last good document stays")
server.content.withLock { $0.status = .internalServerError }
print(try await prices.failure.first(timeout: limit) { $0 != nil }!, prices.document.value!.tea)
server.content.withLock {
    $0.status = .ok; $0.replace(by: "nonsense")
}
_ = try await prices.failure.first(timeout: limit) { $0?.contains("dataCorrupted") == true }
print("nonsense, \(prices.document.value!.tea)")

print("--- it is well again")
server.content.withLock { $0.replace(by: #"{"tea": 400}"#) }
print("tea:", try await tea.first(timeout: limit) { $0 == 400 }!)
print("failure: \(try await prices.failure.first(timeout: limit) { $0 == nil } ?? "none")")

polling.cancel()
let (asked, sent) = server.content.withLock { ($0.asked, $0.sent) }
print("asked more often than documents were sent: \(asked > sent)")
#else
print("Build the package with --traits HTTPClient.")
#endif
