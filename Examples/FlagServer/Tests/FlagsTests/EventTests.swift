// SPDX-License-Identifier: Apache-2.0

import Flags
import HummingbirdTesting
import Testing

@Suite("Events", .timeLimit(.minutes(2)))
struct EventTests {
    @Test("A stream begins with the state of all flags, and goes on with every change")
    func stateThenChanges() async throws {
        let service = quietService()
        service.flags[.darkMode].value = Flag(isEnabled: true, rollout: 10)
        try await service.application().test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            let state = try #require(try await reader.next())
            let expected = Flag.Name.allCases.map { name in
                name == .darkMode
                    ? ReceivedFlag(name: "dark-mode", enabled: true, rollout: 10, version: 1, dropped: 0)
                    : ReceivedFlag(name: name.rawValue, enabled: false, rollout: 100, version: 0, dropped: 0)
            }
            #expect(state == .state(expected))
            // One after the other, so that none takes another's place.
            for version in 1...20 {
                service.flags[.maintenance].value = Flag(isEnabled: version % 2 == 1, rollout: UInt8(version))
                let change = ReceivedFlag(
                    name: "maintenance",
                    enabled: version % 2 == 1,
                    rollout: version,
                    version: UInt64(version),
                    dropped: 0
                )
                let received = try await reader.next()
                #expect(received == .change(change))
            }
        }
    }

    @Test("A client that is too slow receives the last change, and exactly the missing ones are counted as dropped")
    func slowClient() async throws {
        let service = quietService()
        try await service.application().test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            _ = try await reader.next()
            for number in 1...100_000 { service.flags[.bulkExport].value = Flag(rollout: UInt8(number % 101)) }
            var (version, gaps, dropped) = (UInt64(0), UInt64(0), UInt64(0))
            while version < 100_000 {
                guard case .change(let received) = try await reader.next() else { continue }
                #expect(received.version > version)
                #expect(received.rollout == Int(received.version % 101))
                gaps += received.version - version - 1
                #expect(received.dropped >= gaps)
                (version, dropped) = (received.version, received.dropped)
            }
            #expect(gaps > 0)
            #expect(dropped == gaps)
        }
    }

    @Test("When nothing changes a stream shows that it lives")
    func heartbeat() async throws {
        var service = quietService()
        service.heartbeat = .milliseconds(10)
        try await service.application().test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            _ = try await reader.next()
            let received = try await reader.next()
            #expect(received == .heartbeat)
        }
    }

    @Test("Shutdown ends all streams, and says so")
    func shutdown() async throws {
        let service = quietService()
        let clients = try await service.application().test(.live) { client in
            let port = client.port!
            let clients = (1...5).map { _ in
                Task {
                    var reader = try await EventReader.connect(to: port)
                    return try await reader.rest()
                }
            }
            try await service.waitForStreams(5)
            return clients
        }
        // The service has gone down by now.
        for client in clients {
            let events = try await client.value
            #expect(events.count == 2)
            guard case .state = events.first else {
                Issue.record("the first is \(events)")
                continue
            }
            #expect(events.last == .end)
        }
    }

    @Test("When a client goes its stream ends")
    func clientGoes() async throws {
        let service = quietService()
        try await service.application().test(.live) { client in
            let port = client.port!
            let reading = Task {
                var reader = try await EventReader.connect(to: port)
                return try await reader.rest()
            }
            try await service.waitForStreams(1)
            reading.cancel()
            _ = await reading.result
            try await service.waitForStreams(0)
        }
    }
}

extension FlagService {
    /// Waits until so many streams go on; the suite's time limit ends a wait for ever.
    fileprivate func waitForStreams(_ count: Int) async throws {
        while !metrics.text.contains("flag_streams_open \(count).0\n") { try await Task.sleep(for: .milliseconds(5)) }
    }
}
