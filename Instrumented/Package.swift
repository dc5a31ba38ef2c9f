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

/// As in the library's own package.
let liburcu = TargetDependencyCondition.when(platforms: [.linux], traits: ["LibURCU"])
let isUsed = BuildSettingCondition.when(platforms: [.linux], traits: ["LibURCU"])

/// `stress` over a copy of the library with seeded bugs and points at which threads are delayed:
/// see README.md.
let package = Package(
    name: "Instrumented",
    products: [.executable(name: "stress", targets: ["stress"])],
    traits: [.default(enabledTraits: ["LibURCU"]), .trait(name: "LibURCU")],
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
            dependencies: [.target(name: "CLiburcu", condition: liburcu)],
            path: "Sources/CURCU/Shims",
            cSettings: platform + [.define("CURCU_IS_USED", isUsed)],
            linkerSettings: [.linkedLibrary("urcu-bp", isUsed), .linkedLibrary("urcu-common", isUsed)]
        ),
        // `Scripts/check.sh instrument` writes its sources.
        .target(
            name: "ConcurrentObserveInstrumented",
            dependencies: ["CPlatform", .target(name: "CURCU", condition: liburcu)],
            swiftSettings: settings
        ),
        // Links to the library's own `Sources/StressKit` and `Sources/ExplorerKit`. Only one thread
        // of an exploration runs at a time. Checks for exclusive access would take a quarter of its
        // time.
        .target(name: "StressKit", swiftSettings: settings),
        .target(
            name: "ExplorerKit",
            dependencies: ["StressKit"],
            swiftSettings: settings + [.unsafeFlags(["-enforce-exclusivity=unchecked"])]
        ),
        // `Sources/stress/Shared` is a link to the library's own `Sources/stress`.
        .executableTarget(
            name: "stress",
            dependencies: [
                "ConcurrentObserveInstrumented", "CPlatform", "ExplorerKit", "StressKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
