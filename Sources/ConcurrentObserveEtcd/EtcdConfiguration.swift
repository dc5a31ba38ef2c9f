// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Where etcd is, and how a mirror behaves when it does not answer.
public struct EtcdConfiguration: Sendable {
    /// The cluster's client URLs: `http://host:2379` or `https://host:2379`. One session uses one of them.
    public var endpoints: [String]

    /// The user to authenticate as; nil if etcd asks for none.
    public var credentials: Credentials?

    /// For endpoints with `https`.
    public var tls = TLS()

    /// How long a request may take.
    public var requestTimeout = Duration.seconds(5)

    /// How often the mirror asks whether its contents may still count as current. It becomes stale when an answer takes longer than
    /// ``requestTimeout``.
    public var probeInterval = Duration.seconds(5)

    /// How often the mirror compares its contents with etcd's.
    public var comparisonInterval = Duration.seconds(300)

    /// How many keys a mirror may have. With more it fails, and keeps its last contents.
    public var maximumKeys = 100_000

    /// How many bytes a message from etcd may have, its fragments together.
    public var maximumMessageBytes = 64 << 20

    /// How many keys one page of a list has.
    public var pageSize = 1_000

    /// How long to wait between attempts.
    public var backoff = Backoff()

    /// - Parameter endpoints: At least one client URL, as in ``endpoints``.
    public init(endpoints: [String]) { self.endpoints = endpoints }

    /// A user's name and password.
    public struct Credentials: Sendable {
        public var name: String
        public var password: String

        public init(name: String, password: String) {
            self.name = name
            self.password = password
        }
    }

    /// Files in PEM form; nil for the system's certificate authorities, and for no certificate of the client's own.
    public struct TLS: Sendable {
        public var certificateAuthorities: String?
        public var certificateChain: String?
        public var privateKey: String?

        public init(
            certificateAuthorities: String? = nil,
            certificateChain: String? = nil,
            privateKey: String? = nil
        ) {
            self.certificateAuthorities = certificateAuthorities
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

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

extension EtcdConfiguration.Backoff {
    /// The pause after a number of rounds through all endpoints, 1 for the first.
    func pause(round: Int, isCurable: Bool, using generator: inout some RandomNumberGenerator) -> Duration {
        let doubled = first * (1 << min(max(round - 1, 0), 20))
        let whole = isCurable ? min(doubled, longest) : afterFailure
        return whole * Double.random(in: 0.5...1, using: &generator)
    }
}

/// An endpoint's parts.
struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    let host: String
    let port: Int
    let isSecure: Bool

    init(_ url: String) throws {
        let (isSecure, rest): (Bool, Substring) =
            if url.hasPrefix("http://") { (false, url.dropFirst(7)) } else if url.hasPrefix("https://") {
                (true, url.dropFirst(8))
            } else { throw EtcdMirrorError.invalidConfiguration("'\(url)' begins with neither http:// nor https://") }
        let authority = rest.hasSuffix("/") ? rest.dropLast() : rest
        guard let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[authority.index(after: colon)...]),
            port > 0
        else { throw EtcdMirrorError.invalidConfiguration("'\(url)' has no port") }
        var host = authority[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !host.contains("/") else {
            throw EtcdMirrorError.invalidConfiguration("'\(url)' has no host")
        }
        self.host = String(host)
        self.port = Int(port)
        self.isSecure = isSecure
    }

    var isIPv6: Bool { host.contains(":") }
    var isIPv4: Bool { !isIPv6 && host.allSatisfy { $0.isNumber || $0 == "." } }
    var description: String { "\(isSecure ? "https" : "http")://\(isIPv6 ? "[\(host)]" : host):\(port)" }
}
#endif
