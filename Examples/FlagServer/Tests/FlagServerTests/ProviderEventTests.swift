// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
@testable import FlagServer
import Foundation
import Hummingbird
import HummingbirdTesting
import OpenFeature
import Testing

@Suite("Events of the provider", .timeLimit(.minutes(2)))
struct ProviderEventTests {
    private struct Details: Decodable {
        var message: String?
        var flagsChanged: [String]?
        var version: UInt64?
        var dropped: UInt64?
    }

    private func next(_ reader: inout EventReader) async throws -> (name: String, details: Details) {
        let text = try #require(try await reader.nextText())
        let lines = text.split(separator: "\n")
        let (event, data) = (try #require(lines.first), try #require(lines.last))
        return (
            String(event.dropFirst("event: PROVIDER_".count)),
            try JSONDecoder().decode(Details.self, from: Data(data.dropFirst("data: ".count).utf8))
        )
    }

    private func service(_ status: Observed<ProviderStatus>) -> FlagService {
        var service = quietService()
        service.source = FlagSource(
            change: { _, _ in },
            state: { SourceState(source: "test", state: "test") },
            status: status.readOnly,
            hasFlags: Observed(true).readOnly
        )
        return service
    }

    @Test(
        "A client that comes late has the event of the present state at once, whichever it is, and then the others in order"
    )
    func states() async throws {
        let status = Observed(ProviderStatus.ready)
        try await service(status).application.test(.live) { client in
            let cases: [(ProviderStatus, String, String?)] = [
                (.ready, "READY", nil), (.stale("old"), "STALE", "old"), (.error("bad"), "ERROR", "bad"),
            ]
            var early = try await EventReader.connect(to: client.port!, path: "provider/events")
            for (index, (state, name, message)) in cases.enumerated() {
                if index > 0 { status.value = state }
                var late = try await EventReader.connect(to: client.port!, path: "provider/events")
                for event in [try await next(&early), try await next(&late)] {
                    #expect(event.name == name && event.details.message == message)
                }
            }
        }
    }

    @Test("Before there were flags a client has no event; the first is READY")
    func notReady() async throws {
        let status = Observed(ProviderStatus.notReady)
        try await service(status).application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!, path: "provider/events")
            status.value = .ready
            let first = try await next(&reader)
            #expect(first.name == "READY")
        }
    }

    @Test("Each commit is one event that names the flags that it has changed, in order, none left out")
    func changes() async throws {
        let service = service(Observed(.ready))
        try await service.application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!, path: "provider/events")
            let first = try await next(&reader)
            #expect(first.name == "READY")
            for version in 1...200 as ClosedRange<UInt64> {
                let names: [Flag.Name] = version % 2 == 0 ? [.darkMode] : [.newCheckout, .maintenance]
                let flag = Flag(isEnabled: true, rollout: UInt8(version % 100))
                try service.flags.change(Dictionary(uniqueKeysWithValues: names.map { ($0, flag) }))
            }
            for version in 1...200 as ClosedRange<UInt64> {
                let (name, details) = try await next(&reader)
                #expect(name == "CONFIGURATION_CHANGED")
                #expect(details.version == version && details.dropped == 0)
                #expect(details.flagsChanged == (version % 2 == 0 ? ["dark-mode"] : ["new-checkout", "maintenance"]))
            }
        }
    }

    @Test("When nothing changes a stream shows that it lives")
    func heartbeat() async throws {
        var service = service(Observed(.ready))
        service.heartbeat = .milliseconds(10)
        try await service.application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!, path: "provider/events")
            while try await reader.nextText() != ":" {}
        }
    }
}
