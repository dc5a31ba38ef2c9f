// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [.strictMemorySafety(), .enableUpcomingFeature("ExistentialAny")]

// A package of its own: no user of the library links libpq.
let package = Package(
    name: "PostgresMirror",
    products: [
        .executable(name: "follow", targets: ["Follow"]),
        .executable(name: "six-properties", targets: ["SixProperties"]),
    ],
    dependencies: [
        // The name, not the folder's: a checkout may be called anything. The traits are
        // FlagServer's, so that both can be built in one folder.
        .package(
            name: "ConcurrentObserve",
            path: "../..",
            traits: [.defaults, "Metrics", "Logging", "ServiceLifecycle", "Etcd"]
        ),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibpq",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .yum(["libpq-devel"])]
        ),
        .target(
            name: "PostgresMirror",
            dependencies: [
                "CLibpq",
                .product(name: "ConcurrentObserveEtcd", package: "ConcurrentObserve"),
            ],
            resources: [.embedInCode("schema.sql")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Follow",
            dependencies: [
                "PostgresMirror",
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveEtcd", package: "ConcurrentObserve"),
            ],
            swiftSettings: settings
        ),
        // Starts a server of its own, breaks it, and checks what mirrors have shown.
        .executableTarget(
            name: "SixProperties",
            dependencies: [
                "PostgresMirror",
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveEtcd", package: "ConcurrentObserve"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
