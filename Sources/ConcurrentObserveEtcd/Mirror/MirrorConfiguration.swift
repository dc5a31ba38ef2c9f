// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// How a mirror behaves, whatever its engine.
public struct MirrorConfiguration: Sendable {
    /// How long a request may take, and the beginning of a watch.
    public var requestTimeout = Duration.seconds(5)

    /// How often the mirror asks whether its contents may still count as current. After
    /// ``probeTimeout`` without an answer the session ends, the mirror is stale, and tries another
    /// server. So what a server that stands still has kept back comes after the sum of both at
    /// most.
    ///
    /// A probe is a request. Pings of the connection could not come as often: etcd's servers close
    /// a connection with more than one in five seconds.
    public var probeInterval = Duration.seconds(2)

    /// How long the answer to a probe may take. An election takes etcd one to two and a half
    /// seconds with its own settings: with less than that, each ends the sessions of all mirrors,
    /// which then read their ranges again.
    public var probeTimeout = Duration.seconds(3)

    /// How long the watch may bring nothing although keys have changed. Then the session ends, and
    /// the next one lists.
    ///
    /// The mirror knows from the revision that a probe finds. Where that is higher than the
    /// position for so long, and the revisions between may be of other keys, it asks for the newest
    /// revision of its own keys. For that, etcd reads all keys on the server, and sends one of
    /// them.
    public var maximumLag = Duration.seconds(5)

    /// The longest time that a mirror that is ready may be behind its engine: the sum of
    /// ``probeInterval``, ``probeTimeout``, ``maximumLag`` and ``requestTimeout``. One that was not
    /// confirmed for so long is stale.
    public var longestAge: Duration { probeInterval + probeTimeout + maximumLag + requestTimeout }

    /// In which order the mirror tries the servers.
    public var serverOrder = ServerOrder.shuffled

    /// How often a mirror that is with another server asks the first one of its order, on average,
    /// and returns to it if it answers. Each pause is drawn at random between half of this and one
    /// and a half.
    public var returnInterval = Duration.seconds(300)

    /// How long a mirror of an engine without history waits from the end of a list to the beginning
    /// of the next, at least: signals that come more often do not make it list more often. At most
    /// ``maximumLag`` counts.
    public var listGap = Duration.seconds(1)

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
        /// How long a session must have been ready before the pauses start over.
        public var reset = Duration.seconds(5)

        public init() {}
    }
}

extension MirrorConfiguration {
    /// The gap between two lists that counts. With a longer one, signals that wait for their list
    /// would look like a watch that has stalled.
    var usedListGap: Duration { min(listGap, maximumLag) }

    /// How long to wait before the first server of the order is asked.
    func returnPause(using generator: inout some RandomNumberGenerator) -> Duration {
        returnInterval * Double.random(in: 0.5...1.5, using: &generator)
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
