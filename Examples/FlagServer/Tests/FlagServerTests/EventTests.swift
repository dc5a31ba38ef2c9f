// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
@testable import FlagServer
import HTTPEdge
import Hummingbird
import HummingbirdTesting
import Testing

@Suite("Events", .timeLimit(.minutes(2)))
struct EventTests {
    @Test("A stream begins with the state of all flags, and goes on with every change")
    func stateThenChanges() async throws {
        let service = quietService()
        try service.flags.change([.darkMode: Flag(isEnabled: true, rollout: 10)])
        try await service.application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            let state = try #require(try await reader.next())
            let expected = Flag.Name.allCases.map { name in
                name == .darkMode
                    ? ReceivedFlag(name: "dark-mode", enabled: true, rollout: 10, version: 1)
                    : ReceivedFlag(name: name.rawValue, enabled: false, rollout: 100, version: 0)
            }
            #expect(state == .state(ReceivedFlags(version: 1, dropped: 0, flags: expected)))
            // The changes are made one after the other, so that none replaces another.
            for number in 1...20 {
                try service.flags.change([.bulkExport: Flag(isEnabled: number % 2 == 1, rollout: UInt8(number))])
                let version = UInt64(number + 1)
                let flag = ReceivedFlag(
                    name: "bulk-export",
                    enabled: number % 2 == 1,
                    rollout: number,
                    version: version
                )
                let received = try await reader.next()
                #expect(received == .change(ReceivedFlags(version: version, dropped: 0, flags: [flag])))
            }
        }
    }

    @Test("A request that changes several flags is one event of a stream")
    func severalFlags() async throws {
        let service = quietService()
        try await service.application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            _ = try await reader.next()
            for version in 1...20 as ClosedRange<UInt64> {
                let darkMode = #"{"enabled": true, "rollout": \#(version)}"#
                let body = #"{"dark-mode": \#(darkMode), "bulk-export": {"enabled": true}}"#
                try await client.execute(uri: "/flags", method: .patch, body: ByteBuffer(string: body)) { response in
                    #expect(response.status == .ok)
                }
                let flags = [
                    ReceivedFlag(name: "dark-mode", enabled: true, rollout: Int(version), version: version),
                    ReceivedFlag(name: "bulk-export", enabled: true, rollout: 100, version: version),
                ]
                let received = try await reader.next()
                #expect(received == .change(ReceivedFlags(version: version, dropped: 0, flags: flags)))
            }
        }
    }

    @Test("After each event a client's derived flag is the one that follows from its flags, while commits go on")
    func consistent() async throws {
        let service = quietService()
        try await service.application.test(.live) { client in
            let writer = Task {
                var generator = SystemRandomNumberGenerator()
                while !Task.isCancelled {
                    let names = [Flag.Name.newCheckout, .maintenance].filter { _ in Bool.random(using: &generator) }
                    try? service.flags.change(
                        Dictionary(
                            uniqueKeysWithValues: names.map { ($0, Flag(isEnabled: .random(using: &generator))) }
                        )
                    )
                    await Task.yield()
                }
            }
            defer { writer.cancel() }
            for _ in 0..<20 {
                var reader = try await EventReader.connect(to: client.port!)
                var isEnabled: [String: Bool] = [:]
                for _ in 0..<50 {
                    switch try await reader.next() {
                    case .state(let received), .change(let received):
                        for flag in received.flags { isEnabled[flag.name] = flag.enabled }
                        let isOpen = isEnabled["new-checkout"] == true && isEnabled["maintenance"] == false
                        #expect(received.derived == [ReceivedDerived(name: "checkout-open", enabled: isOpen)])
                    case let other: Issue.record("an unexpected event: \(String(describing: other))")
                    }
                }
            }
        }
    }

    @Test("A client that is too slow receives the last change, and exactly the missing ones are counted as dropped")
    func slowClient() async throws {
        let service = quietService()
        try await service.application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            _ = try await reader.next()
            for number in 1...100_000 {
                // Two flags at a time: the changes of one commit are never split, however much is
                // dropped.
                let flag = Flag(rollout: UInt8(number % 101))
                try service.flags.change([.bulkExport: flag, .darkMode: flag])
            }
            var (version, gaps, dropped) = (UInt64(0), UInt64(0), UInt64(0))
            while version < 100_000 {
                guard case .change(let received) = try await reader.next() else { continue }
                #expect(received.version > version)
                #expect(received.flags.map(\.rollout) == [Int](repeating: Int(received.version % 101), count: 2))
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
        try await service.application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            _ = try await reader.next()
            let received = try await reader.next()
            #expect(received == .heartbeat)
        }
    }

    @Test("Shutdown ends all streams, and says so")
    func shutdown() async throws {
        let service = quietService()
        let open = service.streams.open.record(delivery: .serial())
        let clients = try await service.application.test(.live) { client in
            let port = client.port!
            let clients = (1...5).map { _ in
                Task {
                    var reader = try await EventReader.connect(to: port)
                    return try await reader.rest()
                }
            }
            try await open.expect([1, 2, 3, 4, 5])
            return clients
        }
        // The service has gone down by now.
        try await open.expect([4, 3, 2, 1, 0])
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
        let open = service.streams.open.record(delivery: .serial())
        try await service.application.test(.live) { client in
            let port = client.port!
            let reading = Task {
                var reader = try await EventReader.connect(to: port)
                return try await reader.rest()
            }
            try await open.expect([1])
            reading.cancel()
            _ = await reading.result
            try await open.expect([0])
        }
    }
}
