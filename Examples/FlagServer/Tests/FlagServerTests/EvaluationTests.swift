// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
@testable import FlagServer
import Hummingbird
import HummingbirdTesting
@testable import OpenFeature
import Testing

@Suite("Evaluation")
struct EvaluationTests {
    /// Computed by flagd's own Python package: `mmh3.hash(cbor2.dumps([flag, key]), signed=False)`.
    static let hashes: [(flag: String, key: String, times: Int, hash: UInt64)] = [
        ("dark-mode", "user 1", 1, 993_746_379), ("dark-mode", "u", 1, 551_665_787),
        ("dark-mode", "", 1, 1_614_462_801), ("maintenance", "ü", 1, 786_173_643),
        ("new-checkout", "日本", 1, 1_223_559_875), ("dark-mode", "u", 23, 1_512_032_882),
        ("dark-mode", "u", 24, 1_266_908_525), ("bulk-export", "u", 255, 3_915_843_815),
        ("bulk-export", "u", 256, 2_257_481_340), ("bulk-export", "u", 65_536, 2_281_215_240),
    ]

    @Test("A user is where flagd puts it, whatever the length of the key", arguments: hashes)
    func buckets(flag: String, key: String, times: Int, hash: UInt64) {
        let key = String(repeating: key, count: times)
        #expect(FractionalHash.bucket(of: key, flag: flag, total: 1 << 32) == hash)
        #expect(FractionalHash.bucket(of: key, flag: flag, total: 100) == (hash * 100) >> 32)
    }

    private func snapshot(_ flag: Flag, _ name: Flag.Name = .darkMode) -> ProvidedFlags {
        quietService().provider.show(
            Flag.Name.allCases.map { FlagState(name: $0, flag: $0 == name ? flag : Flag(), version: 7) }
        )
    }

    @Test(
        "A rollout is for the users below its share, and for none without a key; a larger one keeps all users of a smaller one"
    )
    func rollout() throws {
        // The user 1 has the number 23 of 100.
        for share in 0...100 as ClosedRange<UInt8> {
            let flags = snapshot(Flag(isEnabled: true, rollout: share))
            let user = try #require(flags.evaluation(of: "dark-mode", targetingKey: "user 1"))
            #expect(user.value == (share > 23))
            #expect(user.variant == (share > 23 ? "on" : "off"))
            #expect(user.reason == (share == 100 ? .constant : .targetingMatch))
            for key in [nil, ""] {
                let none = try #require(flags.evaluation(of: "dark-mode", targetingKey: key))
                #expect(none.value == (share == 100))
                #expect(none.reason == (share == 100 ? .constant : .noKey))
            }
        }
        let off = try #require(snapshot(Flag(rollout: 50)).evaluation(of: "dark-mode", targetingKey: "user 1"))
        #expect(!off.value && off.reason == .constant && off.version == 7)
    }

    @Test("A derived flag has a value, and an unknown one has none")
    func derived() {
        let open = snapshot(Flag(isEnabled: true), .newCheckout)
        #expect(open.evaluation(of: "checkout-open", targetingKey: nil)?.value == true)
        #expect(snapshot(Flag()).evaluation(of: "checkout-open", targetingKey: nil)?.value == false)
        #expect(open.evaluation(of: "nonsense", targetingKey: nil) == nil)
    }

    private struct Answer: Decodable, Equatable {
        var key: String?
        var value: Bool?
        var variant, reason, errorCode: String?
        var metadata: [String: UInt64]?
    }

    private func evaluate(_ client: some TestClientProtocol, _ name: String, _ body: String) async throws -> (
        Int, Answer
    ) {
        try await client.execute(
            uri: "/ofrep/v1/evaluate/flags/\(name)",
            method: .post,
            body: ByteBuffer(string: body)
        ) { response in (response.status.code, try response.decoded(as: Answer.self)) }
    }

    @Test("Over HTTP: value, variant, reason and version, or OpenFeature's code of the error")
    func http() async throws {
        let service = quietService()
        try service.flags.change([.darkMode: Flag(isEnabled: true, rollout: 24)])
        try await service.application.test(.router) { client in
            let user = #"{"context": {"targetingKey": "user 1", "more": "\#(String(repeating: "x", count: 3_000))"}}"#
            let on = Answer(
                key: "dark-mode",
                value: true,
                variant: "on",
                reason: "TARGETING_MATCH",
                metadata: ["version": 1]
            )
            for name in ["dark-mode", "dark%2Dmode"] {
                let (status, answer) = try await evaluate(client, name, user)
                #expect(status == 200 && answer == on)
            }
            let mistakes = [
                ("nonsense", "{}", 404, "FLAG_NOT_FOUND"), ("dark-mode", "[", 400, "PARSE_ERROR"),
                ("dark-mode", String(repeating: " ", count: 70_000), 413, "INVALID_CONTEXT"),
            ]
            for (name, body, status, code) in mistakes {
                let answered = try await evaluate(client, name, body)
                #expect(answered == (status, Answer(key: name, errorCode: code)))
            }
        }
    }

    @Test("Before there ever were flags from the source no flag has a value")
    func notReady() async throws {
        var service = quietService()
        let hasFlags = Observed(false)
        service.source = FlagSource(
            change: { _, _ in },
            state: { SourceState(source: "none", state: "connecting") },
            status: Observed(.notReady).readOnly,
            hasFlags: hasFlags.readOnly
        )
        try await service.application.test(.router) { client in
            let early = try await evaluate(client, "dark-mode", "{}")
            #expect(early == (503, Answer(key: "dark-mode", errorCode: "PROVIDER_NOT_READY")))
            hasFlags.value = true
            let late = try await evaluate(client, "dark-mode", "{}")
            #expect(late.0 == 200)
        }
    }
}
