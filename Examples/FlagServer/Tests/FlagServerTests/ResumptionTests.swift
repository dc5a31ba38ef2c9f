// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
@testable import FlagServer
import Hummingbird
import HummingbirdTesting
import OpenFeature
import Testing

@Suite("Resumption", .timeLimit(.minutes(2)))
struct ResumptionTests {
    @Test("A client resumes only what this server knows completely")
    func resumable() throws {
        let flags = FeatureFlags()
        let memory = FlagSource.memory(flags)
        #expect(memory.version(memory.tag(7)) == 7)
        #expect(memory.version("another:7") == nil)
        try flags.change([.darkMode: Flag(isEnabled: true)])
        #expect(memory.canResume(flags.snapshot, after: 0) && memory.canResume(flags.snapshot, after: 1))
        #expect(!memory.canResume(flags.snapshot, after: 2))
        // A flag without a key may have been removed before the server started.
        let etcd = FlagSource(
            change: { _, _ in },
            state: { SourceState(source: "test", state: "ready") },
            status: Observed(.ready).readOnly,
            hasFlags: Observed(true).readOnly,
            series: "etcd",
            forgetsRemovals: true
        )
        #expect(!etcd.canResume(flags.snapshot, after: 1))
        flags.show(Flag.Name.allCases.map { FlagState(name: $0, version: 5) })
        #expect(etcd.canResume(flags.snapshot, after: 1))
    }

    @Test("A server that is behind what a client has seen says so, and shows it nothing older")
    func behind() async throws {
        var service = quietService()
        service.source = FlagSource(
            change: { _, _ in },
            reach: { $0.map { $0 <= 5 } ?? false },
            state: { SourceState(source: "test", state: "stale") },
            status: Observed(.ready).readOnly,
            hasFlags: Observed(true).readOnly,
            series: "test"
        )
        service.flags.show(Flag.Name.allCases.map { FlagState(name: $0, version: 5) })
        let body = ByteBuffer(string: #"{"dark-mode": {"enabled": true}}"#)
        try await service.application.test(.router) { client in
            for (seen, read, written) in [("test:5", 304, 200), ("test:4", 200, 200), ("test:6", 503, 503)] {
                for path in ["/flags", "/flags/dark-mode"] {
                    try await client.execute(uri: path, method: .get, headers: [.ifNoneMatch: "\"\(seen)\""]) {
                        #expect($0.status.code == read)
                    }
                }
                try await client.execute(uri: "/flags", method: .patch, headers: [.ifMatch: "\"\(seen)\""], body: body)
                {
                    #expect($0.status.code == written)
                }
            }
            // The source does not confirm the present flags.
            for (headers, status) in [([:], 503), ([.cacheControl: "max-stale"], 200)] as [(HTTPFields, Int)] {
                try await client.execute(uri: "/flags", method: .get, headers: headers) {
                    #expect($0.status.code == status)
                }
            }
        }
    }

    @Test("Before there were flags a stream says so, and goes on with the state")
    func waiting() async throws {
        var service = quietService()
        let hasFlags = Observed(false)
        service.source = FlagSource(
            change: { _, _ in },
            state: { SourceState(source: "test", state: "connecting") },
            status: Observed(.notReady).readOnly,
            hasFlags: hasFlags.readOnly
        )
        try await service.application.test(.live) { client in
            var reader = try await EventReader.connect(to: client.port!)
            let first = try await reader.nextText()
            #expect(first?.hasPrefix("event: waiting\n") == true)
            hasFlags.value = true
            guard case .state? = try await reader.next() else {
                Issue.record("no state")
                return
            }
        }
    }
}
