// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, as a user's is.
let package = Package(
    name: "StatusBoard",
    dependencies: [
        // The name, not the folder's: a checkout may be called anything.
        .package(
            name: "ConcurrentObserve",
            path: "../..",
            traits: [.defaults, "Collections", "Configuration", "Logging", "Metrics", "ServiceLifecycle"]
        ),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["JSON", "Reloading"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "StatusBoard",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveCollections", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveConfiguration", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveLogging", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveMetrics", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveServiceLifecycle", package: "ConcurrentObserve"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .testTarget(
            name: "StatusBoardTests",
            dependencies: [
                "StatusBoard",
                .product(name: "ConcurrentObserveTesting", package: "ConcurrentObserve"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
