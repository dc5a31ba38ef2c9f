// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// How a mirror behaves, whatever its engine.
public struct MirrorConfiguration: Sendable {
    /// How long a request may take, and the beginning of a watch.
    public var requestTimeout = Duration.seconds(5)

    /// How often the mirror asks whether its contents may still count as current. After ``probeTimeout`` without an answer the session ends, the
    /// mirror is stale, and tries another server. So what a server that stands still has kept back comes after the sum of both at most.
    ///
    /// A probe is a request. Pings of the connection could not come as often: etcd's servers close a connection with more than one in five seconds.
    public var probeInterval = Duration.seconds(2)

    /// How long the answer to a probe may take. An election takes etcd one to two and a half seconds with its own settings: with less than that,
    /// each ends the sessions of all mirrors, which then read their ranges anew.
    public var probeTimeout = Duration.seconds(3)

    /// How often the mirror compares its contents with the engine's.
    public var comparisonInterval = Duration.seconds(300)

    /// How many keys a mirror may have. With more it fails, and keeps its last contents.
    public var maximumKeys = 100_000

    /// How long to wait between attempts.
    public var backoff = Backoff()

    public init() {}

    /// Pauses that double, each drawn at random between its half and the whole.
    public struct Backoff: Sendable {
        public var first = Duration.milliseconds(100)
        public var longest = Duration.seconds(2)
        /// After a failure that repetition does not cure: no permission, or too many keys.
        public var afterFailure = Duration.seconds(30)
        /// How long a session must have been ready for the pauses to begin anew.
        public var reset = Duration.seconds(5)

        public init() {}
    }
}

extension MirrorConfiguration.Backoff {
    /// The pause after a number of rounds through all servers, 1 for the first.
    func pause(round: Int, isCurable: Bool, using generator: inout some RandomNumberGenerator) -> Duration {
        let doubled = first * (1 << min(max(round - 1, 0), 20))
        let whole = isCurable ? min(doubled, longest) : afterFailure
        return whole * Double.random(in: 0.5...1, using: &generator)
    }
}
#endif
