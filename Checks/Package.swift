// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// The repository's own checks: nothing that the library's users build depends on them.
let package = Package(
    name: "Checks",
    targets: [
        .executableTarget(name: "checks"),
        .testTarget(name: "ChecksTests", dependencies: ["checks"]),
    ],
    swiftLanguageModes: [.v6]
)
