// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Strict memory safety: every `unsafe` expression is marked and argued in place.
let settings: [SwiftSetting] = [.strictMemorySafety(), .enableUpcomingFeature("ExistentialAny")]

/// The second build of the same sources, with injection points and seeded bugs. It is never a product's dependency.
let instrumented: [SwiftSetting] = settings + [.define("INSTRUMENTED")]

let package = Package(
    name: "ConcurrentObserve",
    products: [
        .library(name: "ConcurrentObserve", targets: ["ConcurrentObserve"]),
        .executable(name: "stress", targets: ["stress"]),
        .executable(name: "stress-product", targets: ["stress-product"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        // liburcu, the system library: pkg-config name and the packages that provide it.
        .systemLibrary(
            name: "CLiburcu",
            path: "Sources/CURCU/liburcu",
            pkgConfig: "liburcu-bp",
            providers: [.apt(["liburcu-dev"]), .yum(["userspace-rcu-devel"])]
        ),
        .target(
            name: "CURCU",
            dependencies: ["CLiburcu"],
            path: "Sources/CURCU/Shims",
            linkerSettings: [.linkedLibrary("urcu-bp"), .linkedLibrary("urcu-common")]
        ),

        .target(name: "ConcurrentObserve", dependencies: ["CURCU"], swiftSettings: settings),
        // `Sources/ConcurrentObserveInstrumented` is a link to `Sources/ConcurrentObserve`.
        .target(name: "ConcurrentObserveInstrumented", dependencies: ["CURCU"], swiftSettings: instrumented),

        .executableTarget(
            name: "stress",
            dependencies: [
                "ConcurrentObserveInstrumented",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: instrumented
        ),
        // `Sources/stress-product` is a link to `Sources/stress`: the same command over the library that users build.
        .executableTarget(
            name: "stress-product",
            dependencies: [
                "ConcurrentObserve",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),

        .testTarget(
            name: "ConcurrentObserveTests",
            dependencies: ["ConcurrentObserve"],
            swiftSettings: settings
        ),
        // Never `stress` itself: tests share one process, and two builds of the library in one would share a thread's record.
        .testTarget(
            name: "StressTests",
            dependencies: ["stress-product"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
