// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, as a user's is.
let package = Package(
    name: "Streams",
    // The library asks for these. Linux ignores the line.
    platforms: [.macOS(.v15)],
    dependencies: [
        // The name, not the folder's: a checkout may be called anything.
        .package(name: "ConcurrentObserve", path: "../.."),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    ],
    targets: [
        .executableTarget(
            name: "Streams",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
