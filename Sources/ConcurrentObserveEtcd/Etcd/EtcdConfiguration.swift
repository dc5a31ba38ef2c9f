// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// Where etcd is, and how a mirror behaves when it does not answer.
///
/// The members of ``MirrorConfiguration`` are members here, too:
/// `configuration.probeInterval = .seconds(1)`.
@dynamicMemberLookup
public struct EtcdConfiguration: Sendable {
    /// The cluster's client URLs: `http://host:2379` or `https://host:2379`. One session uses one
    /// of them.
    public var endpoints: [String]

    /// The user to authenticate as; nil if etcd asks for none.
    public var credentials: Credentials?

    /// The settings of TLS, used for endpoints with `https`.
    public var tls = TLS()

    /// How many bytes a message from etcd may have, and all fragments of one revision together. If
    /// it is less than etcd's `--max-request-bytes`, a single value may be too large: the mirror
    /// fails with `tooLarge`.
    public var maximumMessageBytes = 64 << 20

    /// How many keys a page of a list has: one at least. A page that would have more bytes than
    /// ``maximumMessageBytes`` has fewer. For each page etcd counts the keys that are left, so that
    /// a long list takes quadratic time: see <doc:MirrorProtocol>.
    public var pageSize = 1_000

    /// The settings that do not depend on the engine.
    public var mirror = MirrorConfiguration()

    /// - Parameter endpoints: At least one client URL, as in ``endpoints``.
    public init(endpoints: [String]) { self.endpoints = endpoints }

    /// A member of ``mirror``.
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

    /// Files in PEM form; nil for the system's certificate authorities, and for no certificate of
    /// the client's own.
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
