// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import ConcurrentObserveTesting
import Foundation
import Testing

@Suite("Certificates and passwords", .timeLimit(.minutes(2)))
struct SecurityTests {
    /// Runs a mirror that is refused, and counts its connections: one for each pause.
    private func refused(
        _ prefix: MirrorKey = "/t/",
        at url: String,
        through proxy: Proxy,
        _ code: MirrorError.Code,
        _ what: String,
        configure: (inout EtcdConfiguration) -> Void
    ) async throws {
        let (clock, metrics) = (ManualClock(), TestMetrics())
        let mirror = EtcdMirror<String>.test(prefix, [url], metrics: metrics, clock: clock, configure: configure)
        let before = try proxy.accepted()
        try await withMirror(mirror, ready: false) { mirror in
            for attempt in 1...4 {
                try await eventually("\(what): attempt \(attempt) is refused") {
                    mirror.isPaused(clock, metrics, after: attempt)
                }
                #expect(mirror.state.value.error?.code == code, "\(what): \(mirror.state.value)")
                #expect(mirror.state.value.name == "failed", "\(what)")
                #expect(mirror.contents.value.entries.isEmpty)
                #expect(try proxy.accepted() - before == attempt, "\(what)")
                // Not at last: the end of the mirror could still connect.
                if attempt < 4 { clock.advance(by: mirror.configuration.backoff.afterFailure) }
            }
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
                let url = "https://\(host):\(proxy.port)"
                if !what.isEmpty {
                    try await refused(at: url, through: proxy, .untrusted, "\(what), \(host)") {
                        $0.tls.certificateAuthorities = authority
                    }
                } else {
                    let mirror = EtcdMirror<String>.test("/t/", [url]) { $0.tls.certificateAuthorities = authority }
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
            let (clock, metrics) = (ManualClock(), TestMetrics())
            let url = "\(scheme)://127.0.0.1:\(proxy.port)"
            let mirror = EtcdMirror<String>.test("/t/", [url], metrics: metrics, clock: clock) { $0.tls = tls }
            try await withMirror(mirror, ready: false) { mirror in
                for attempt in 1...4 {
                    try await eventually("\(scheme): an error") { mirror.isPaused(clock, metrics, after: attempt) }
                    #expect(mirror.state.value.error != nil && !mirror.state.value.isReady)
                    #expect(try proxy.accepted() == attempt, "\(scheme)")
                    clock.advance(by: mirror.configuration.backoff.afterFailure)
                }
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
            try await refused(at: url, through: proxy, .untrusted, what) { $0.tls = tls }
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
        try await refused(at: url, through: proxy, .permissionDenied, "other keys") { $0.tls = client }
    }

    @Test("No credentials, wrong ones, and right ones without the right to these keys")
    func passwords() async throws {
        let etcd = try await EtcdCluster()
        try await etcd.allow("flags", "/f/")
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        for (prefix, password, code) in [
            ("/f/", nil, .unauthenticated), ("/f/", "wrong", .unauthenticated), ("/t/", "secret", .permissionDenied),
        ] as [(MirrorKey, String?, MirrorError.Code)] {
            try await refused(
                prefix,
                at: proxy.url,
                through: proxy,
                code,
                "\(prefix), \(password ?? "no password")"
            ) { configuration in
                if let password { configuration.credentials = .init(name: "flags", password: password) }
            }
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
            try await mirror.set("1", for: "/f/a")
            for text in ["2", "3"] {
                // etcd looks for expired simple tokens once a second. A signed token's end is a
                // whole second, so a token of one second may be valid for almost two.
                try await Task.sleep(for: .milliseconds(2_600))
                try await etcd.control("put /f/a others\(text)")
                try await eventually("the watch goes on") { mirror.contents.value["/f/a"] == "others\(text)" }
                try await mirror.set(text, for: "/f/a")
            }
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
