// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The settings of a mirror that do not depend on its engine.
public struct MirrorConfiguration: Sendable {
    /// The time limit of a request, and of the creation of a watch.
    public var requestTimeout = Duration.seconds(5)

    /// The interval at which the mirror asks whether its contents still count as current. If there
    /// is no answer within ``probeTimeout``, the session ends, the mirror is stale, and it tries
    /// another server. So the mirror leaves a server that hangs after at most the sum of both.
    ///
    /// A probe is a request. Pings of the connection could not be so frequent: etcd's servers close
    /// a connection with more than one ping in five seconds.
    public var probeInterval = Duration.seconds(2)

    /// The time limit of a probe. With etcd's default settings, an election takes one to two and a
    /// half seconds. If the limit is shorter, each election ends the sessions of all mirrors, and
    /// the mirrors read their ranges again.
    public var probeTimeout = Duration.seconds(3)

    /// The longest time for which the watch may deliver nothing although keys have changed. Then
    /// the session ends, and the next one lists.
    ///
    /// A probe finds the engine's newest revision. This may be higher than the position for so long
    /// only because other keys have changed. Therefore the mirror first asks for the newest
    /// revision of its own keys. For that, etcd reads all these keys on the server, and sends one
    /// of them.
    public var maximumLag = Duration.seconds(5)

    /// The longest time by which a ready mirror may be behind its engine: the sum of
    /// ``probeInterval``, ``probeTimeout``, ``maximumLag`` and ``requestTimeout``. A mirror whose
    /// contents were not confirmed for so long is stale.
    public var longestAge: Duration { probeInterval + probeTimeout + maximumLag + requestTimeout }

    /// The order in which the mirror tries the servers.
    public var serverOrder = ServerOrder.shuffled

    /// The average interval at which a mirror that uses another server asks the first server of its
    /// order. If that server answers, the mirror returns to it. Each pause is random, between half
    /// of this interval and one and a half.
    public var returnInterval = Duration.seconds(300)

    /// The shortest time from the end of a list to the beginning of the next, if the engine has no
    /// history. More frequent signals do not cause more frequent lists. If this is longer than
    /// ``maximumLag``, ``maximumLag`` is used instead.
    public var listGap = Duration.seconds(1)

    /// The average interval at which the mirror compares its contents with the engine's.
    public var comparisonInterval = Duration.seconds(300)

    /// The largest number of keys that a mirror may have. If there are more, the mirror fails, and
    /// keeps its last contents.
    public var maximumKeys = 100_000

    /// The pauses between attempts.
    public var backoff = Backoff()

    public init() {}

    /// Pauses that double after each round of attempts. Each pause is random, between half of its
    /// length and all of it.
    public struct Backoff: Sendable {
        public var first = Duration.milliseconds(100)
        public var longest = Duration.seconds(2)
        /// The pause after a failure that repetition does not cure, such as a missing permission or
        /// too many keys.
        public var afterFailure = Duration.seconds(30)
        /// The time that a session must have been ready for the pauses to start over.
        public var reset = Duration.seconds(5)

        public init() {}
    }
}

extension MirrorConfiguration {
    /// The gap that the mirror keeps between two lists: `listGap`, but at most `maximumLag`.
    var usedListGap: Duration { min(listGap, maximumLag) }

    /// Returns a random pause, after which the mirror asks the first server of its order.
    func returnPause(using generator: inout some RandomNumberGenerator) -> Duration {
        returnInterval * Double.random(in: 0.5...1.5, using: &generator)
    }
}

extension MirrorConfiguration.Backoff {
    /// Returns the pause after `round` rounds through all servers. The first round is 1.
    func pause(round: Int, isCurable: Bool, using generator: inout some RandomNumberGenerator) -> Duration {
        let doubled = first * (1 << min(max(round - 1, 0), 20))
        let whole = isCurable ? min(doubled, longest) : afterFailure
        return whole * Double.random(in: 0.5...1, using: &generator)
    }
}
#endif
