// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The addresses of an etcd cluster, and the settings of a mirror of that cluster.
///
/// The members of ``MirrorConfiguration`` are members here, too:
/// `configuration.probeInterval = .seconds(1)`.
@dynamicMemberLookup
public struct EtcdConfiguration: Sendable {
    /// The client URLs of the cluster's members, for example `http://host:2379` or
    /// `https://host:2379`. A session uses one of them.
    public var endpoints: [String]

    /// The user to authenticate as; nil if etcd requires no authentication.
    public var credentials: Credentials?

    /// The settings of TLS, for endpoints with `https`.
    public var tls = TLS()

    /// The largest size of a message from etcd, and of all fragments of one revision together, in
    /// bytes. If it is less than etcd's `--max-request-bytes`, a single value may be too large. The
    /// mirror then fails with `tooLarge`.
    public var maximumMessageBytes = 64 << 20

    /// The largest number of keys in a page of a list; at least 1. If a page would be larger than
    /// ``maximumMessageBytes``, the mirror asks for fewer keys. For each page, etcd counts the keys
    /// that are left, so the time of a long list is quadratic in the number of keys: see
    /// <doc:MirrorProtocol>.
    public var pageSize = 1_000

    /// The settings that do not depend on the engine.
    public var mirror = MirrorConfiguration()

    /// Makes a configuration with the default settings.
    ///
    /// - Parameter endpoints: At least one client URL, as in ``endpoints``.
    public init(endpoints: [String]) { self.endpoints = endpoints }

    /// Gets or sets a member of ``mirror``.
    public subscript<Member>(dynamicMember path: WritableKeyPath<MirrorConfiguration, Member>) -> Member {
        get { mirror[keyPath: path] }
        set { mirror[keyPath: path] = newValue }
    }

    /// A user's name and password.
    public struct Credentials: Sendable {
        public var name: String
        public var password: String

        public init(name: String, password: String) {
            self.name = name
            self.password = password
        }
    }

    /// The paths of files in PEM form. If `certificateAuthorities` is nil, the system's authorities
    /// are used. If `certificateChain` and `privateKey` are nil, the client has no certificate.
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
}
#endif
