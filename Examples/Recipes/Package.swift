// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Each is a program of its own; what it prints is in expected/NAME.txt.
let recipes = [
    "AdminPage", "BoundSettings", "CacheInvalidation", "ConnectionState", "LimitsTogether", "ObservableFacade",
    "Permissions", "ProgressReport", "SavedSettings", "ServiceHealth", "Transfers",
]

// A package of its own, as a user's is.
let package = Package(
    name: "Recipes",
    dependencies: [
        // The name, not the folder's: a checkout may be called anything.
        .package(name: "ConcurrentObserve", path: "../..")
    ],
    targets: recipes.map { name in
        .executableTarget(
            name: name,
            dependencies: [
                .product(name: "ConcurrentObserve", package: "ConcurrentObserve"),
                .product(name: "ConcurrentObserveInspection", package: "ConcurrentObserve"),
            ]
        )
    },
    swiftLanguageModes: [.v6]
)
