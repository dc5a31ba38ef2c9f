// SPDX-License-Identifier: Apache-2.0

#if Etcd
@testable import ConcurrentObserveEtcd
import Foundation
import Testing

@Suite("Servers that are not etcd", .timeLimit(.minutes(2)))
struct WrongServerTests {
    /// A server that says nothing that etcd's clients know.
    enum Server: String, CaseIterable, Sendable {
        /// A web server of HTTP/1.1.
        case web
        /// One that speaks first, as mail and SSH do.
        case banner
        /// One that answers the first bytes with text, as Redis does.
        case text
        /// A server of HTTP/2 that is none of gRPC.
        case http2
        /// One of TLS, at a URL without: it answers with an alert.
        case tls

        var program: String {
            let accept = """
                import socket, sys, threading, time
                s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
                def one(talk, c):
                    try: talk(c)
                    except OSError: pass
                    c.close()
                def serve(talk):
                    while True: threading.Thread(target=one, args=(talk, s.accept()[0]), daemon=True).start()

                """
            switch self {
            case .web:
                return """
                    import sys
                    from http.server import *
                    HTTPServer(("127.0.0.1", int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()
                    """
            case .banner:
                return accept
                    + #"serve(lambda c: (c.sendall(b"SSH-2.0-OpenSSH_9.2\r\n"), c.recv(1000), time.sleep(0.2)))"#
            case .text:
                return accept
                    + #"serve(lambda c: (c.recv(1000), c.sendall(b"-ERR unknown command 'PRI'\r\n"), time.sleep(0.2)))"#
            case .http2:
                // Settings; then for the first request an answer of the status 404, which ends its
                // stream.
                return accept + #"""
                    def talk(c):
                        c.sendall(b"\0\0\0\4\0\0\0\0\0")
                        seen = b""
                        while not b"\0\0\0\1" in seen[24:] or len(seen) < 80: seen += c.recv(1000)
                        c.sendall(b"\0\0\0\4\1\0\0\0\0" + b"\0\0\1\1\5\0\0\0\1\x8d")
                        time.sleep(0.5)
                    serve(talk)
                    """#
            case .tls:
                return accept + #"serve(lambda c: (c.recv(1000), c.sendall(b"\x15\3\3\0\2\2\x46"), time.sleep(0.2)))"#
            }
        }
    }

    /// Whether something listens at a port.
    static func accepts(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // Safe: the address lives as long as the call.
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    @Test("A URL with https at a web server without TLS")
    func withoutTLS() async throws {
        try await check(.web, scheme: "https", says: "WRONG_VERSION_NUMBER")
    }

    @Test(
        "The mirror fails, and says why",
        arguments: zip(Server.allCases, ["<!DOCTYPE", "SSH-2.0", "-ERR", "404", "does not speak HTTP/2"])
    )
    func wrong(_ server: Server, says text: String) async throws { try await check(server, says: text) }

    private func check(_ server: Server, scheme: String = "http", says text: String) async throws {
        let port = EtcdCluster.freePorts(1)[0]
        let child = try Child(["python3", "-c", server.program, "\(port)"])
        defer { child.end() }
        try await eventually("it listens") { Self.accepts(port) }
        let mirror = EtcdMirror<String>.test("/t/", ["\(scheme)://127.0.0.1:\(port)"])
        try await withMirror(mirror, ready: false) { mirror in
            try await eventually("failed", within: .seconds(5)) { mirror.state.value.error?.code == .wrongServer }
            #expect(mirror.state.value.name == "failed")
            let message = mirror.state.value.error?.message ?? ""
            #expect(message.contains(text), "\(message)")
        }
    }

    @Test("The empty key is no range: `run()` throws at once, and says what to use")
    func emptyKey() async throws {
        let mirror = EtcdMirror<String>(.key(""), at: .test(["http://127.0.0.1:1"]), coding: .text)
        let error = await #expect(throws: MirrorError.self) { try await mirror.run() }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("prefix") == true)
        #expect(mirror.state.value.name == "failed")
    }

    @Test("Round trips of 6 s: with limits of 30 s the mirror is ready in its first session, and writes")
    func slow() async throws {
        let etcd = try await EtcdCluster()
        let proxy = try Proxy(to: etcd.nodes[0].clientPort)
        try proxy.command("delay 3000")
        let metrics = TestMetrics()
        let mirror = EtcdMirror<String>.test("/t/", [proxy.url], metrics: metrics) {
            $0.requestTimeout = .seconds(30)
            $0.probeTimeout = .seconds(30)
        }
        try await withMirror(mirror, ready: false) { mirror in
            // It takes four round trips. The connection sends its first ping before.
            try await mirror.waitUntilReady(within: .seconds(60))
            let states = Recording(mirror.state)
            try await mirror.set("1", for: "/t/a")
            #expect(mirror.contents.value["/t/a"] == "1")
            #expect(states.values.isEmpty)
            #expect(metrics["ended_sessions_total"] <= 0)
        }
    }
}
#endif
