// SPDX-License-Identifier: Apache-2.0

#if Etcd
import NIOCore
import NIOHTTP2

/// Answers pings that the client's own requests cause on an HTTP/2 connection. Passes everything
/// else on.
///
/// etcd's gRPC sends a ping for each request that it reads, to estimate the connection's
/// bandwidth. NIO's HTTP/2 handler closes a connection that receives more than 200 pings in 30
/// seconds, since they could be an attack. gRPC has no setting for this limit. Without this
/// handler, 200 requests, such as the pages of a long list, would end the session.
///
/// A peer that only sends pings must not be answered without limit. Therefore each write allows one
/// more ping, and each 16 KiB that are written allow one more. Other pings reach NIO's handler, and
/// count for its limit.
final class PingHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private static let headerLength = 9
    private static let pingLength = 8
    private static let pingType: UInt8 = 6
    /// The number of written bytes that allow one more ping: the size of a full frame.
    private static let bytesForPing = 1 << 14
    /// The largest number of pings that may be allowed at a time: NIO's limit for one interval.
    private static let mostAllowed = 200

    /// The received beginning of a frame, if it is still too short to show the type.
    private var pending = ByteBuffer()
    /// The number of bytes of the present frame that are still to be passed on.
    private var rest = 0
    /// The number of pings that this handler may still answer.
    private var allowed = 0

    /// Adds the handler to a client's connection, in front of the HTTP/2 handler that it protects.
    static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let protected = try pipeline.handler(type: NIOHTTP2Handler.self)
            try pipeline.addHandler(PingHandler(), position: .before(protected))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let count = unwrapOutboundIn(data).readableBytes
        allowed = min(allowed + 1 + count / Self.bytesForPing, Self.mostAllowed)
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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
        /// A ping, represented by the answer to it.
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
