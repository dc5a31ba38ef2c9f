// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// How properties are used together with other packages: one program for each package. What a
// program prints is in expected/NAME.txt.
let package = Package(
    name: "Composition",
    traits: [
        // Off by default: each builds for minutes.
        .trait(name: "Configuration", description: "The program ConfigReload, which needs swift-configuration."),
        .trait(name: "Database", description: "The program DatabaseRow, which needs GRDB."),
        .trait(name: "HTTPClient", description: "The program HTTPPolling, which needs async-http-client."),
        .trait(name: "Tracing", description: "The program RequestSpans, which needs swift-distributed-tracing."),
    ],
    dependencies: [
        // The name, not the folder's: a checkout may be called anything.
        .package(
            name: "ConcurrentObserve",
            path: "../..",
            traits: [
                .defaults, "Collections",
                .trait(name: "Configuration", condition: .when(traits: ["Configuration"])),
                .trait(name: "Tracing", condition: .when(traits: ["Tracing"])),
            ]
        ),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["JSON", "Reloading"]),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "ConfigReload",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(
                    name: "ConcurrentObserveConfiguration",
                    package: "ConcurrentObserve",
                    condition: .when(traits: ["Configuration"])
                ),
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])
                ),
            ]
        ),
        .executableTarget(
            name: "DebounceAndThrottle",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ]
        ),
        .executableTarget(
            name: "CombinePublisher",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ]
        ),
        .executableTarget(
            name: "MillionKeys",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveCollections", package: "ConcurrentObserve"),
            ]
        ),
        .executableTarget(
            name: "RequestSpans",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(
                    name: "ConcurrentObserveTracing",
                    package: "ConcurrentObserve",
                    condition: .when(traits: ["Tracing"])
                ),
                .product(
                    name: "InMemoryTracing",
                    package: "swift-distributed-tracing",
                    condition: .when(traits: ["Tracing"])
                ),
                .product(name: "InMemoryLogging", package: "swift-log", condition: .when(traits: ["Tracing"])),
            ]
        ),
        .executableTarget(
            name: "DatabaseRow",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Database"])),
            ]
        ),
        .executableTarget(
            name: "HTTPPolling",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: .when(traits: ["HTTPClient"])
                ),
                .product(
                    name: "NIOFoundationCompat",
                    package: "swift-nio",
                    condition: .when(traits: ["HTTPClient"])
                ),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTPClient"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTPClient"])),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
