// SPDX-License-Identifier: Apache-2.0

#if Flagd
import NIOCore
import NIOHTTP2

/// Answers those pings of an HTTP/2 connection that its own data have caused, and passes everything
/// else on.
///
/// A client of gRPC sends a ping with every message that it reads, to estimate the bandwidth of the
/// connection. NIO's HTTP/2 closes a connection with more than 200 pings in 30 seconds, because
/// they could be an attack, and gRPC has no setting for this.
///
/// The data that this side has written allow a number of pings. A peer that sends pings and reads
/// nothing gets no more of them: its pings reach NIO's handler, and its limit.
package final class PingHandler: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = IOData
    package typealias OutboundOut = IOData

    private static let headerLength = 9
    private static let pingLength = 8
    private static let pingType: UInt8 = 6
    /// The smallest number of bytes that the peer reads between two pings: a frame of the usual
    /// size.
    private static let bytesForPing = 1 << 14
    /// The largest number of pings that may come at once: as many as NIO allows in its interval.
    private static let mostAllowed = 200

    /// The begin of a frame that is too short to decide.
    private var pending = ByteBuffer()
    /// The number of bytes that remain of a frame which is passed on. At first it is the length of
    /// the preface that a client sends.
    private var rest = 24
    /// The number of pings that may still be answered here.
    private var allowed = 0

    /// Adds the handler to a connection that a server has accepted, before the handlers that it
    /// protects.
    package static func add(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let protected = try pipeline.handler(type: NIOHTTP2Handler.self)
        try pipeline.addHandler(PingHandler(), position: .before(protected))
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let count = unwrapOutboundIn(data).readableBytes
        allowed = min(allowed + 1 + count / Self.bytesForPing, Self.mostAllowed)
        context.write(data, promise: promise)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pending.writeImmutableBuffer(unwrapInboundIn(data))
        var passed = context.channel.allocator.buffer(capacity: pending.readableBytes)
        while let frame = next() {
            switch frame {
            case .other(var piece): passed.writeBuffer(&piece)
            case .ping(let answer): context.writeAndFlush(wrapOutboundOut(.byteBuffer(answer)), promise: nil)
            }
        }
        pending.discardReadBytes()
        if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
    }

    private enum Piece {
        case other(ByteBuffer)
        /// A ping, with its answer.
        case ping(ByteBuffer)
    }

    private func next() -> Piece? {
        if rest > 0 {
            guard let piece = pending.readSlice(length: min(rest, pending.readableBytes)), piece.readableBytes > 0
            else {
                return nil
            }
            rest -= piece.readableBytes
            return .other(piece)
        }
        let start = pending.readerIndex
        guard pending.readableBytes >= Self.headerLength,
            let high: UInt16 = pending.getInteger(at: start), let low: UInt8 = pending.getInteger(at: start + 2),
            let type: UInt8 = pending.getInteger(at: start + 3), let flags: UInt8 = pending.getInteger(at: start + 4)
        else { return nil }
        let length = Int(high) << 8 | Int(low)
        guard type == Self.pingType, flags & 1 == 0, length == Self.pingLength, allowed > 0 else {
            rest = Self.headerLength + length
            return next()
        }
        guard var frame = pending.readSlice(length: Self.headerLength + Self.pingLength) else { return nil }
        frame.setInteger(UInt8(1), at: frame.readerIndex + 4)
        allowed -= 1
        return .ping(frame)
    }
}

@available(*, unavailable)
extension PingHandler: Sendable {}
#endif
