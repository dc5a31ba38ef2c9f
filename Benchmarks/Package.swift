// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]

// A package of its own, so that the library is built as its users build it: a dependency, release,
// no unsafe flags.
let package = Package(
    name: "Benchmarks",
    traits: [.default(enabledTraits: ["LibURCU"]), .trait(name: "LibURCU")],
    dependencies: [
        // `Scripts/check-counts.sh` counts with the trait and without. The C code beside the
        // library always uses liburcu. The name, not the folder's: a checkout may be called
        // anything.
        .package(
            name: "ConcurrentObserve",
            path: "..",
            traits: [.trait(name: "LibURCU", condition: .when(traits: ["LibURCU"]))]
        ),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(
            name: "CReference",
            linkerSettings: [.linkedLibrary("urcu-bp"), .linkedLibrary("urcu-common")]
        ),
        // It judges rounds. It has no dependencies, so its tests build in seconds.
        .target(name: "Judging", swiftSettings: settings),
        .testTarget(name: "JudgingTests", dependencies: ["Judging"], swiftSettings: settings),
        // The rows of a table in an article, whose other side is OpenCombine, which this package
        // has.
        .testTarget(
            name: "MigrationTests",
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CReference", "Judging",
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "OpenCombineDispatch", package: "OpenCombine"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
