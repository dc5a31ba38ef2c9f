// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import CompilerPluginSupport
import PackageDescription

/// Strict memory safety: every `unsafe` expression is marked and argued in place.
let settings: [SwiftSetting] = [.strictMemorySafety(), .enableUpcomingFeature("ExistentialAny")]

/// With `CONCURRENT_OBSERVE_PLATFORM=portable`, Linux uses what systems without futex and
/// membarrier use: mutexes and conditions, and fences. So it is tested here.
let platform: [CSetting] =
    Context.environment["CONCURRENT_OBSERVE_PLATFORM"] == "portable" ? [.define("CPLATFORM_PORTABLE")] : []

/// The dependencies of the mirror of etcd, if its trait is on.
let etcd: [Target.Dependency] = [
    ("GRPCCore", "grpc-swift-2"), ("GRPCProtobuf", "grpc-swift-protobuf"),
    ("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"), ("SwiftProtobuf", "swift-protobuf"),
    ("NIOCore", "swift-nio"), ("NIOHTTP2", "swift-nio-http2"), ("HashTreeCollections", "swift-collections"),
    ("Logging", "swift-log"), ("CoreMetrics", "swift-metrics"), ("ServiceLifecycle", "swift-service-lifecycle"),
].map { .product(name: $0.0, package: $0.1, condition: .when(traits: ["Etcd"])) }

/// liburcu is used on Linux, unless its trait is off: see the article "Protocol and memory model".
let liburcu = TargetDependencyCondition.when(platforms: [.linux], traits: ["LibURCU"])
let isUsed = BuildSettingCondition.when(platforms: [.linux], traits: ["LibURCU"])

/// With this trait the library itself knows what travels with a change.
let tracing = TargetDependencyCondition.when(traits: ["Tracing"])

/// The executables, which most of the forms below leave out.
let commands = ["stress", "mutants"]

extension Product {
    /// A library of one target, which has its name.
    static func module(_ name: String) -> Product { library(name: name, targets: [name]) }
}

let package = Package(
    name: "ConcurrentObserve",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .module("ConcurrentObserve"),
        .module("ConcurrentObserveInspection"),
        .module("ConcurrentObserveTesting"),
        // Each is empty unless its trait is on.
        .module("ConcurrentObserveMacros"),
        .module("ConcurrentObserveMetrics"),
        .module("ConcurrentObserveLogging"),
        .module("ConcurrentObserveServiceLifecycle"),
        .module("ConcurrentObserveConfiguration"),
        .module("ConcurrentObserveCollections"),
        .module("ConcurrentObserveTracing"),
        .module("ConcurrentObserveEtcd"),
        .module("StressKit"),
        .module("ExplorerKit"),
        .executable(name: "stress", targets: ["stress"]),
        .executable(name: "mutants", targets: ["mutants"]),
    ],
    traits: [
        .default(enabledTraits: ["LibURCU"]),
        .trait(name: "LibURCU", description: "Read sections of liburcu. Without it: hazard pointers alone."),
        .trait(name: "Macros", description: "@ConcurrentObservable, which builds swift-syntax."),
        .trait(name: "Metrics", description: "The library's figures as metrics of swift-metrics."),
        .trait(name: "Logging", description: "Warnings about stuck callbacks, for swift-log."),
        .trait(name: "ServiceLifecycle", description: "Draining at shutdown, as a service of swift-service-lifecycle."),
        .trait(
            name: "Configuration",
            description: "Properties as a source of swift-configuration, and keys as properties."
        ),
        .trait(name: "Collections", description: "Dictionaries that are observed by key, with swift-collections."),
        .trait(name: "Tracing", description: "The setter's context in deliveries, with swift-distributed-tracing."),
        .trait(
            name: "Etcd",
            description: "Properties that follow etcd, which builds grpc-swift-2.",
            enabledTraits: ["Collections"]
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Neither fetched nor built without the trait that needs it.
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    ],
    targets: [
        // The system's services, a file for each subject.
        .target(name: "CPlatform", cSettings: platform),
        // liburcu, the system library: pkg-config name and the packages that provide it.
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

        // The lowest room of the library: the compiler holds its border.
        .target(
            name: "ConcurrentObservePlatform",
            dependencies: ["CPlatform", .target(name: "CURCU", condition: liburcu)],
            path: "Sources/ConcurrentObserve/Platform",
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserve",
            dependencies: [
                "ConcurrentObservePlatform",
                .product(name: "Instrumentation", package: "swift-distributed-tracing", condition: tracing),
                .product(name: "Logging", package: "swift-log", condition: tracing),
            ],
            exclude: ["Platform"],
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserveInspection",
            dependencies: ["ConcurrentObserve", "ConcurrentObservePlatform"],
            swiftSettings: settings
        ),
        // Needs swift-testing, of the toolchain.
        .target(
            name: "ConcurrentObserveTesting",
            dependencies: ["ConcurrentObserve", "ConcurrentObserveInspection", "ConcurrentObservePlatform"],
            swiftSettings: settings
        ),
        // The tools of `stress` that know nothing of the library.
        .target(name: "StressKit", swiftSettings: settings),
        .target(name: "ExplorerKit", dependencies: ["StressKit"], swiftSettings: settings),
        // Seeded bugs for users' packages. The package `Checks` links to its `Edits`.
        .executableTarget(
            name: "mutants",
            dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: settings
        ),
        // The package `Instrumented` has the same command over a copy of the library with seeded
        // bugs.
        .executableTarget(
            name: "stress",
            dependencies: [
                "ConcurrentObserve", "CPlatform", "ExplorerKit", "StressKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),

        // The optional parts. Each depends on the library and on one package if its trait is on,
        // and is empty if not.
        .macro(
            name: "ConcurrentObserveMacrosPlugin",
            dependencies: [
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftIfConfig", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftLexicalLookup", package: "swift-syntax", condition: .when(traits: ["Macros"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserveMacros",
            dependencies: ["ConcurrentObserve", "ConcurrentObserveMacrosPlugin"],
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserveMetrics",
            dependencies: [
                "ConcurrentObserve",
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserveLogging",
            dependencies: [
                "ConcurrentObserve",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserveConfiguration",
            dependencies: [
                "ConcurrentObserve",
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])
                ),
            ],
            // swift-configuration's protocols are of this mode.
            swiftSettings: settings + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        ),
        .target(
            name: "ConcurrentObserveCollections",
            dependencies: [
                "ConcurrentObserve", "ConcurrentObservePlatform",
                .product(
                    name: "HashTreeCollections",
                    package: "swift-collections",
                    condition: .when(traits: ["Collections"])
                ),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserveTracing",
            dependencies: [
                "ConcurrentObserve",
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: tracing),
                .product(name: "Logging", package: "swift-log", condition: tracing),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ConcurrentObserveServiceLifecycle",
            dependencies: [
                "ConcurrentObserve", "ConcurrentObserveConfiguration", "ConcurrentObserveLogging",
                "ConcurrentObserveMetrics",
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            swiftSettings: settings
        ),

        .target(
            name: "ConcurrentObserveEtcd",
            dependencies: ["ConcurrentObserve", "ConcurrentObserveCollections"] + etcd,
            exclude: ["Generated/etcd.proto"],
            swiftSettings: settings
        ),

        .target(name: "HeapSize", path: "Tests/HeapSize"),
        .testTarget(
            name: "ConcurrentObserveTests",
            dependencies: ["ConcurrentObserve", "ConcurrentObserveInspection", "ConcurrentObserveTesting", "HeapSize"],
            swiftSettings: settings
        ),
        .testTarget(name: "StressKitTests", dependencies: ["StressKit"], swiftSettings: settings),
        .testTarget(name: "MutantsTests", dependencies: ["mutants"], swiftSettings: settings),
        .testTarget(name: "ExplorerKitTests", dependencies: ["ExplorerKit"], swiftSettings: settings),
        .testTarget(
            name: "StressTests",
            dependencies: ["stress"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

// The environment asks for the optional parts' tests, as Scripts/traits.sh does. They are built
// without `stress` and the library's own tests: a test of a macro makes SwiftPM build all of a
// package's tests as tools, and tests of an executable cannot be tools.
if ["traits", "mutants"].contains(Context.environment["CONCURRENT_OBSERVE_TESTS"]) {
    package.products.removeAll { commands.contains($0.name) }
    package.targets.removeAll { $0.type == .test || commands.contains($0.name) }
    package.targets += [
        .target(name: "TaskLocalReads", path: "Tests/TaskLocalReads"),
        .testTarget(
            name: "MacrosTests",
            dependencies: [
                "ConcurrentObserveMacros",
                "ConcurrentObserveMacrosPlugin",
                .product(
                    name: "SwiftSyntaxMacrosGenericTestSupport",
                    package: "swift-syntax",
                    condition: .when(traits: ["Macros"])
                ),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MetricsTests",
            dependencies: [
                "ConcurrentObserveMetrics", "ConcurrentObserveTesting",
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "LoggingTests",
            dependencies: [
                "ConcurrentObserveLogging", "ConcurrentObserveTesting",
                .product(name: "InMemoryLogging", package: "swift-log", condition: .when(traits: ["Logging"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ConfigurationTests",
            dependencies: [
                "ConcurrentObserveConfiguration", "ConcurrentObserveTesting",
                .product(
                    name: "ConfigurationTesting",
                    package: "swift-configuration",
                    condition: .when(traits: ["Configuration"])
                ),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CollectionsTests",
            dependencies: ["ConcurrentObserveCollections", "ConcurrentObserveTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TracingTests",
            dependencies: [
                "ConcurrentObserveTracing", "ConcurrentObserveTesting", "HeapSize", "TaskLocalReads",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: tracing),
                .product(name: "InMemoryLogging", package: "swift-log", condition: tracing),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ServiceLifecycleTests",
            dependencies: [
                "ConcurrentObserveConfiguration", "ConcurrentObserveLogging", "ConcurrentObserveMetrics",
                "ConcurrentObserveServiceLifecycle", "ConcurrentObserveTesting",
                .product(
                    name: "ServiceLifecycleTestKit",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            swiftSettings: settings
        ),
    ]
}

// Only the tests that find the seeded bugs of optional parts: Scripts/optional-mutants.sh.
if Context.environment["CONCURRENT_OBSERVE_TESTS"] == "mutants" {
    package.targets.removeAll { $0.type == .test && !["CollectionsTests", "TracingTests"].contains($0.name) }
    package.targets.append(
        .testTarget(
            name: "ConcurrentObserveTests",
            dependencies: ["ConcurrentObserve", "ConcurrentObserveInspection", "ConcurrentObserveTesting", "HeapSize"],
            sources: ["Promises.swift", "Inspection", "Support"],
            swiftSettings: settings
        )
    )
}

// The tests of the rooms that depend on the backend: `.ci/run` builds them a second time, without
// liburcu.
if Context.environment["CONCURRENT_OBSERVE_TESTS"] == "backend" {
    package.products.removeAll { commands.contains($0.name) }
    let others = ["StressTests", "StressKitTests", "ExplorerKitTests", "MutantsTests"]
    package.targets.removeAll { (commands + others).contains($0.name) }
    package.targets.first { $0.name == "ConcurrentObserveTests" }?.exclude = [
        "Binding", "Delivery", "DeliveryArticleTests.swift", "Derivation", "MigrationTests.swift",
        "Testing", "Transaction",
        // They use what these have.
        "KeyPaths/PathValueTests.swift", "KeyPaths/WeakPathDeliveryTests.swift",
        "Property/RemovingDuplicatesTests.swift",
    ]
}

// No other tests are built with the mirror's. Beside a test of a macro, SwiftPM would build
// everything that gRPC needs a second time, for tools.
if Context.environment["CONCURRENT_OBSERVE_TESTS"] == "etcd" {
    package.products.removeAll { commands.contains($0.name) }
    package.targets.removeAll { $0.type == .test || commands.contains($0.name) }
    package.targets += [
        .target(name: "WallClock", path: "Tests/WallClock"),
        .testTarget(
            name: "EtcdTests",
            dependencies: ["ConcurrentObserveEtcd", "ConcurrentObserveTesting", "WallClock"] + etcd
                + [.product(name: "NIOEmbedded", package: "swift-nio", condition: .when(traits: ["Etcd"]))],
            exclude: ["proxy.py"],
            swiftSettings: settings
        ),
    ]
}

// `stress`, its kits and the tests look into /proc, fork, and limit the address space.
#if !os(Linux)
package.products.removeAll { ["stress", "StressKit", "ExplorerKit"].contains($0.name) }
package.targets.removeAll { $0.type == .test || ["stress", "StressKit", "ExplorerKit", "HeapSize"].contains($0.name) }
#endif
