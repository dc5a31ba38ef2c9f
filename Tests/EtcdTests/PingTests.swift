// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import NIOCore
import NIOEmbedded
import Testing

@Suite("Pings that data have caused", .timeLimit(.minutes(1)))
struct PingTests {
    private static func frame(_ type: UInt8, flags: UInt8 = 0, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags, 0, 0, 0, 0] + payload
    }

    private static let ping = frame(6, [1, 2, 3, 4, 5, 6, 7, 8])
    private static let answer = frame(6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8])

    private let channel = EmbeddedChannel(handler: PingHandler())

    private func receive(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

    private func write(_ count: Int = 1) throws {
        try channel.writeOutbound(IOData.byteBuffer(ByteBuffer(repeating: 0, count: count)))
        _ = try channel.readOutbound(as: IOData.self)
    }

    /// The bytes that the handler has passed on since the last call.
    private func passed() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try channel.readInbound(as: ByteBuffer.self) { bytes += piece.readableBytesView }
        return bytes
    }

    /// The bytes that the handler has answered since the last call.
    private func answers() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while case .byteBuffer(let piece)? = try channel.readOutbound(as: IOData.self) {
            bytes += piece.readableBytesView
        }
        return bytes
    }

    @Test("A ping after something was written is answered, in whatever pieces it comes; other frames pass, in order")
    func answered() throws {
        let (before, after) = (Self.frame(0, [9, 9, 9]), Self.frame(4, []))
        for size in 1...40 {
            try write()
            let bytes = before + Self.ping + after
            for start in stride(from: 0, to: bytes.count, by: size) {
                try receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(try passed() == before + after)
            #expect(try answers() == Self.answer)
        }
    }

    @Test(
        "Each write allows a ping, and so does each frame's length that it has; the others pass, and so do answers to pings of this side"
    )
    func allowed() throws {
        try receive(Self.ping)
        #expect(try passed() == Self.ping)
        try write()
        try write(3 << 14)
        for _ in 0..<7 { try receive(Self.ping) }
        #expect(try answers().count == 5 * Self.answer.count)
        #expect(try passed() == Self.ping + Self.ping)
        try write()
        try receive(Self.answer)
        #expect(try passed() == Self.answer)
        #expect(try answers().isEmpty)
    }

    @Test("However much was written, 200 pings at once and no more")
    func most() throws {
        for _ in 0..<1_000 { try write() }
        for _ in 0..<300 { try receive(Self.ping) }
        #expect(try answers().count == 200 * Self.answer.count)
        #expect(try passed().count == 100 * Self.ping.count)
    }
}
#endif
