// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [.strictMemorySafety(), .enableUpcomingFeature("ExistentialAny")]

// A package of its own, as a user's is.
let package = Package(
    name: "FlagServer",
    traits: [
        .trait(name: "Etcd", description: "Flags that a fleet of servers shares, on etcd; builds grpc-swift-2."),
        .trait(
            name: "Flagd",
            description: "Flags for OpenFeature, by flagd's protocol; builds grpc-swift-2.",
            // The two have the handling of gRPC's pings in common.
            enabledTraits: ["Etcd"]
        ),
    ],
    dependencies: [
        // The name, not the folder's: a checkout may be called anything.
        .package(
            name: "ConcurrentObserve",
            path: "../..",
            traits: [.trait(name: "Etcd", condition: .when(traits: ["Etcd"]))]
        ),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    ],
    targets: [
        // The service without its command, so that tests can run it.
        .target(
            name: "Flags",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "FlagServer",
            dependencies: [
                "Flags",
                .product(
                    name: "ConcurrentObserveEtcd",
                    package: "ConcurrentObserve",
                    condition: .when(traits: ["Etcd"])
                ),
                .product(name: "GRPCCore", package: "grpc-swift-2", condition: .when(traits: ["Flagd"])),
                .product(
                    name: "GRPCNIOTransportHTTP2Posix",
                    package: "grpc-swift-nio-transport",
                    condition: .when(traits: ["Flagd"])
                ),
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FlagsTests",
            dependencies: [
                "Flags",
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
