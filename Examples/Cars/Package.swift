// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, as a user's is.
let package = Package(
    name: "Cars",
    // The library asks for these. Linux ignores the line.
    platforms: [.macOS(.v15)],
    dependencies: [
        // The name, not the folder's: a checkout may be called anything.
        .package(name: "ConcurrentObserve", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Cars",
            dependencies: [.product(name: "ConcurrentObserve", package: "ConcurrentObserve")]
        )
    ],
    swiftLanguageModes: [.v6]
)
