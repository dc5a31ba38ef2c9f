// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [.strictMemorySafety(), .enableUpcomingFeature("ExistentialAny")]

/// A library's product of the same name.
func product(_ name: String, _ package: String) -> Target.Dependency { .product(name: name, package: package) }

func product(_ name: String, _ package: String, _ traits: Set<String>) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: traits))
}

// A package of its own, as a user's is.
let package = Package(
    name: "FlagServer",
    products: [.executable(name: "FlagServer", targets: ["Command"])],
    traits: [
        .trait(name: "Etcd", description: "Flags that a fleet of servers shares, on etcd; builds grpc-swift-2."),
        .trait(name: "Flagd", description: "Flags for OpenFeature, by flagd's protocol; builds grpc-swift-2."),
    ],
    dependencies: [
        // The name, not the folder's: a checkout may be called anything.
        .package(
            name: "ConcurrentObserve",
            path: "../..",
            traits: [
                .defaults, "Metrics", "Logging", "ServiceLifecycle",
                .trait(name: "Etcd", condition: .when(traits: ["Etcd"])),
            ]
        ),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    ],
    targets: [
        // A reader copies this target: flags, rules, commits, streams, the log of changes.
        .target(
            name: "FlagServer",
            dependencies: [
                "HTTPEdge", "OpenFeature",
                product("ConcurrentObserve", "ConcurrentObserve"),
                product("ConcurrentObserveLogging", "ConcurrentObserve"),
                product("ConcurrentObserveMetrics", "ConcurrentObserve"),
                product("ConcurrentObserveServiceLifecycle", "ConcurrentObserve"),
                product("Hummingbird", "hummingbird"),
                product("AsyncAlgorithms", "swift-async-algorithms"),
                product("Logging", "swift-log"),
                product("Metrics", "swift-metrics"),
                product("NIOCore", "swift-nio"),
                product("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("Page/page.html"), .embedInCode("Page/page.css"), .embedInCode("Page/page.js")],
            swiftSettings: settings
        ),
        // The program: its options, and where flags are kept, in a file or in etcd.
        .executableTarget(
            name: "Command",
            dependencies: [
                "FlagServer", "HTTPEdge", "OpenFeature",
                product("ConcurrentObserve", "ConcurrentObserve"),
                product("ConcurrentObserveEtcd", "ConcurrentObserve", ["Etcd"]),
                product("ArgumentParser", "swift-argument-parser"),
                product("Configuration", "swift-configuration"),
                product("Logging", "swift-log"),
                product("Metrics", "swift-metrics"),
                product("NIOCore", "swift-nio"),
                product("ServiceLifecycle", "swift-service-lifecycle"),
                product("SystemPackage", "swift-system"),
            ],
            swiftSettings: settings
        ),
        // This target stands between routes and clients. It knows nothing of flags, and does not
        // use the library.
        .target(
            name: "HTTPEdge",
            dependencies: [
                product("Hummingbird", "hummingbird"),
                product("HummingbirdCore", "hummingbird"),
                product("NIOCore", "swift-nio"),
                product("NIOHTTPTypes", "swift-nio-extras"),
                product("NIOHTTP2", "swift-nio-http2", ["Flagd"]),
                product("HTTPTypes", "swift-http-types"),
                product("Logging", "swift-log"),
                product("CoreMetrics", "swift-metrics"),
                product("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        // OpenFeature's protocols: evaluation over HTTP, the events of a provider, flagd's sync.
        .target(
            name: "OpenFeature",
            dependencies: [
                "HTTPEdge",
                product("ConcurrentObserve", "ConcurrentObserve"),
                product("Hummingbird", "hummingbird"),
                product("AsyncAlgorithms", "swift-async-algorithms"),
                product("GRPCCore", "grpc-swift-2", ["Flagd"]),
                product("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport", ["Flagd"]),
                product("Logging", "swift-log"),
                product("Metrics", "swift-metrics"),
                product("NIOCore", "swift-nio"),
                product("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FlagServerTests",
            dependencies: [
                "Command", "FlagServer", "HTTPEdge", "OpenFeature",
                product("ConcurrentObserve", "ConcurrentObserve"),
                product("ConcurrentObserveTesting", "ConcurrentObserve"),
                product("HummingbirdTesting", "hummingbird"),
                product("AsyncHTTPClient", "async-http-client"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
