// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Strict memory safety, as in the library's own package.
let settings: [SwiftSetting] = [
    .strictMemorySafety(), .enableUpcomingFeature("ExistentialAny"), .define("INSTRUMENTED"),
]

/// With `CONCURRENT_OBSERVE_PLATFORM=portable`, Linux uses what systems without futex and
/// membarrier use: mutexes and conditions, and fences. So it is tested here.
let platform: [CSetting] =
    Context.environment["CONCURRENT_OBSERVE_PLATFORM"] == "portable" ? [.define("CPLATFORM_PORTABLE")] : []

/// `stress` over a copy of the library with seeded bugs and points at which threads are delayed:
/// see README.md.
let package = Package(
    name: "Instrumented",
    products: [.executable(name: "stress", targets: ["stress"])],
    dependencies: [.package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")],
    targets: [
        .target(name: "CPlatform", cSettings: platform),
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
            cSettings: platform,
            linkerSettings: [.linkedLibrary("urcu-bp"), .linkedLibrary("urcu-common")]
        ),
        // `Scripts/check.sh instrument` writes its sources.
        .target(name: "ConcurrentObserveInstrumented", dependencies: ["CPlatform", "CURCU"], swiftSettings: settings),
        // `Sources/stress/Shared` is a link to the library's own `Sources/stress`.
        .executableTarget(
            name: "stress",
            dependencies: [
                "ConcurrentObserveInstrumented",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
