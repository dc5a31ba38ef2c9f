// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Certificates and passwords", .timeLimit(.minutes(2)))
struct SecurityTests {
    /// Runs a mirror that is refused, and counts its connections.
    private func refused(
        _ mirror: EtcdMirror<String>,
        through proxy: Proxy,
        _ code: MirrorError.Code,
        _ what: String
    ) async throws {
        try await withMirror(mirror, ready: false) { mirror in
            try? await eventually("", within: .seconds(5)) { mirror.state.value.error?.code == code }
            #expect(mirror.state.value.error?.code == code, "\(what): \(mirror.state.value)")
            #expect(mirror.state.value.name == "failed", "\(what)")
            #expect(mirror.contents.value.entries.isEmpty)
            let before = try proxy.accepted()
            try await Task.sleep(for: .seconds(2))
            let count = try proxy.accepted() - before
            // Pauses of 250 to 500 ms.
            #expect(count <= 9, "\(what): \(count) connections in 2 s")
            try await eventually("another connection") { try proxy.accepted() > before }
            #expect(mirror.state.value.error?.code == code, "\(what)")
        }
    }

    @Test(
        "TLS: a server of an unknown authority, of another host, and an expired one are refused; a good one is followed"
    )
    func serverCertificates() async throws {
        let (certificates, others) = (try Certificates(), try Certificates())
        try certificates.sign("good")
        try certificates.sign("expired", days: -1)
        try certificates.sign("elsewhere", hosts: "DNS:etcd.example,IP:192.0.2.1")
        for (name, authority, what) in [
            ("good", others.authority, "unknown authority"), ("expired", certificates.authority, "expired"),
            ("elsewhere", certificates.authority, "another host"), ("good", certificates.authority, ""),
        ] {
            let etcd = try await EtcdCluster(
                arguments: certificates.arguments(name),
                access: .init(tls: EtcdConfiguration.TLS(certificateAuthorities: certificates.authority)),
                waits: name == "good"
            )
            let proxy = try Proxy(to: etcd.nodes[0].clientPort)
            for host in ["127.0.0.1", "localhost"] {
                let mirror = EtcdMirror<String>.test("/t/", ["https://\(host):\(proxy.port)"]) {
                    $0.tls.certificateAuthorities = authority
                }
                if !what.isEmpty {
                    try await refused(mirror, through: proxy, .untrusted, "\(what), \(host)")
                } else {
                    try await withMirror(mirror) { mirror in
                        try await mirror.set("1", for: "/t/a")
                        #expect(mirror.contents.value["/t/a"] == "1")
                    }
                }
            }
        }
    }

    @Test("TLS where there is none, and none where there is TLS: an error, and no busy loop")
    func mixed() async throws {
        let certificates = try Certificates()
        try certificates.sign("good")
        let tls = EtcdConfiguration.TLS(certificateAuthorities: certificates.authority)
        let (plain, secure) = (
            try await EtcdCluster(),
            try await EtcdCluster(arguments: certificates.arguments("good"), access: .init(tls: tls))
        )
        for (etcd, scheme) in [(plain, "https"), (secure, "http")] {
            let proxy = try Proxy(to: etcd.nodes[0].clientPort)
            let mirror = EtcdMirror<String>.test("/t/", ["\(scheme)://127.0.0.1:\(proxy.port)"]) { $0.tls = tls }
            try await withMirror(mirror, ready: false) { mirror in
                try await eventually("an error") { mirror.state.value.error != nil }
                let before = try proxy.accepted()
                try await Task.sleep(for: .seconds(2))
                let count = try proxy.accepted() - before
                // Pauses of 125 to 250 ms, or longer ones.
                #expect(count <= 17, "\(scheme): \(count) connections in 2 s")
                try await eventually("another connection") { try proxy.accepted() > before }
                #expect(!mirror.state.value.isReady)
            }
        }
    }

    @Test(
        "A certificate of the client's own: without it, and with another authority's, refused; an expired one heals when it is renewed"
    )
    func clientCertificates() async throws {
        let (certificates, others) = (try Certificates(), try Certificates())
        try certificates.sign("server")
        let client = try certificates.sign("client", user: "flags")
        let arguments =
            certificates.arguments("server") + ["--client-cert-auth", "--trusted-ca-file", certificates.authority]
        let etcd = try await EtcdCluster(arguments: arguments, access: .init(tls: client))
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        let url = "https://127.0.0.1:\(proxy.port)"
        var foreign = try others.sign("client", user: "flags")
        foreign.certificateAuthorities = certificates.authority
        for (tls, what) in [
            (EtcdConfiguration.TLS(certificateAuthorities: certificates.authority), "no certificate"),
            (foreign, "another authority's"),
        ] {
            try await refused(.test("/t/", [url]) { $0.tls = tls }, through: proxy, .untrusted, what)
        }
        let missing = EtcdConfiguration.TLS(
            certificateAuthorities: certificates.authority,
            certificateChain: certificates.path("missing.crt"),
            privateKey: certificates.path("missing.key")
        )
        let unreadable = EtcdMirror<String>.test("/t/", [url]) { $0.tls = missing }
        try await withMirror(unreadable, ready: false) { mirror in
            try await eventually("no file") { mirror.state.value.error?.code == .invalidConfiguration }
        }
        let renewed = try certificates.sign("renewed", user: "flags", days: -1)
        try await withMirror(.test("/t/", [url]) { $0.tls = renewed }, ready: false) { mirror in
            try await eventually("expired") { mirror.state.value.error?.code == .untrusted }
            // The files are read at each attempt.
            try certificates.sign("renewed", user: "flags")
            try await mirror.waitUntilReady(within: .seconds(5))
            try await mirror.set("1", for: "/t/a")
        }
        // With authentication, the certificate's common name is the user: there is no password and
        // no token.
        try await etcd.allow("flags", "/f/")
        try await withMirror(.test("/f/", [url]) { $0.tls = client }) { mirror in
            _ = try await mirror.set("1", for: "/f/a")
        }
        try await refused(.test("/t/", [url]) { $0.tls = client }, through: proxy, .permissionDenied, "other keys")
    }

    @Test("No credentials, wrong ones, and right ones without the right to these keys")
    func passwords() async throws {
        let etcd = try await EtcdCluster()
        try await etcd.allow("flags", "/f/")
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        for (prefix, password, code) in [
            ("/f/", nil, .unauthenticated), ("/f/", "wrong", .unauthenticated), ("/t/", "secret", .permissionDenied),
        ] as [(MirrorKey, String?, MirrorError.Code)] {
            let mirror = EtcdMirror<String>.test(prefix, [proxy.url]) { configuration in
                if let password { configuration.credentials = .init(name: "flags", password: password) }
            }
            try await refused(mirror, through: proxy, code, "\(prefix), \(password ?? "no password")")
        }
    }

    @Test("A permission that is taken away: failed, with the last values; it is given back: ready, and nothing is lost")
    func revoked() async throws {
        let etcd = try await EtcdCluster()
        try await etcd.allow("flags", "/f/")
        let mirror = EtcdMirror<String>.test("/f/", etcd.urls) {
            $0.credentials = .init(name: "flags", password: "secret")
        }
        try await withMirror(mirror) { mirror in
            try await mirror.set("1", for: "/f/a")
            try await etcd.control("role revoke-permission flags --prefix=true /f/")
            try await eventually("failed") { mirror.state.value.error?.code == .permissionDenied }
            #expect(mirror.contents.value["/f/a"] == "1")
            try await etcd.control("put /f/a 2")
            try await etcd.control("role grant-permission flags readwrite --prefix=true /f/")
            try await mirror.waitUntilReady(within: .seconds(5))
            #expect(mirror.contents.value["/f/a"] == "2")
        }
    }

    @Test("A token that expires is renewed within the session", arguments: [false, true])
    func tokens(isSigned: Bool) async throws {
        let certificates = try Certificates()
        var arguments = ["--auth-token-ttl", "1"]
        if isSigned {
            try certificates.openssl("genrsa -out token.key 2048")
            try certificates.openssl("rsa -in token.key -pubout -out token.pub")
            let (key, pub) = (certificates.path("token.key"), certificates.path("token.pub"))
            arguments = ["--auth-token", "jwt,pub-key=\(pub),priv-key=\(key),sign-method=RS256,ttl=1s"]
        }
        let etcd = try await EtcdCluster(arguments: arguments)
        try await etcd.allow("flags", "/f/")
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>.test("/f/", etcd.urls, metrics: metrics) {
            $0.credentials = .init(name: "flags", password: "secret")
            // A simple token lives on with each use; a probe would use it.
            if !isSigned { $0.probeInterval = .seconds(30) }
        }
        try await withMirror(mirror) { mirror in
            let states = Recording(mirror.state)
            for index in 0..<3 {
                try await mirror.set("\(index)", for: "/f/a")
                // etcd looks for expired simple tokens once a second.
                try await Task.sleep(for: .milliseconds(isSigned ? 1_600 : 2_600))
            }
            try await etcd.control("put /f/a others")
            try await eventually("the watch goes on") { mirror.contents.value["/f/a"] == "others" }
            #expect(metrics["token_renewals_total"] >= 2)
            #expect(metrics["ended_sessions_total"] <= 0)
            #expect(states.values.isEmpty, "\(states.values)")
        }
    }

    @Test("Users and roles that change make older tokens void: a change is written nevertheless")
    func oldTokens() async throws {
        let etcd = try await EtcdCluster()
        try await etcd.allow("flags", "/f/")
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>.test("/f/", etcd.urls, metrics: metrics) {
            $0.credentials = .init(name: "flags", password: "secret")
        }
        try await withMirror(mirror) { mirror in
            for index in 0..<5 {
                try await etcd.control("role add other\(index)")
                try await mirror.set("\(index)", for: "/f/a")
            }
            #expect(mirror.contents.value["/f/a"] == "4")
            #expect(metrics["ended_sessions_total"] <= 0)
        }
    }
}
#endif
