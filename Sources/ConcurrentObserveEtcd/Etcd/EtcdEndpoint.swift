// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The parts of a client URL: the host, the port, and whether TLS is used.
public struct EtcdEndpoint: Hashable, Sendable, CustomStringConvertible {
    let host: String
    let port: Int
    let isSecure: Bool

    init(_ url: String) throws {
        let (isSecure, rest): (Bool, Substring) =
            if url.hasPrefix("http://") { (false, url.dropFirst(7)) } else if url.hasPrefix("https://") {
                (true, url.dropFirst(8))
            } else { throw MirrorError(.invalidConfiguration, "'\(url)' begins with neither http:// nor https://") }
        let authority = rest.hasSuffix("/") ? rest.dropLast() : rest
        guard let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[authority.index(after: colon)...]),
            port > 0
        else { throw MirrorError(.invalidConfiguration, "'\(url)' has no port") }
        var host = authority[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !host.contains("/") else {
            throw MirrorError(.invalidConfiguration, "'\(url)' has no host")
        }
        self.host = String(host)
        self.port = Int(port)
        self.isSecure = isSecure
    }

    var isIPv6: Bool { host.contains(":") }
    var isIPv4: Bool { !isIPv6 && host.allSatisfy { $0.isNumber || $0 == "." } }
    public var description: String { "\(isSecure ? "https" : "http")://\(isIPv6 ? "[\(host)]" : host):\(port)" }
}
#endif
