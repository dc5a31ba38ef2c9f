// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Code of a service, with tests that put it under load and explore its schedules.
let package = Package(
    name: "YourOwnCode",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ConcurrentObserve", path: "../..")],
    targets: [
        .target(
            name: "Depot",
            dependencies: [.product(name: "StressKit", package: "ConcurrentObserve")]
        ),
        // A link to the same sources: here atomics and mutexes are steps of the explorer.
        .target(
            name: "DepotExplored",
            dependencies: [
                .product(name: "ExplorerKit", package: "ConcurrentObserve"),
                .product(name: "StressKit", package: "ConcurrentObserve"),
            ],
            swiftSettings: [.define("EXPLORED")]
        ),
        .testTarget(
            name: "DepotTests",
            dependencies: [
                "Depot", "DepotExplored",
                .product(name: "ExplorerKit", package: "ConcurrentObserve"),
                .product(name: "StressKit", package: "ConcurrentObserve"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
