// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// A tool of the repository: nothing that the library's users build depends on it.
let package = Package(
    name: "Litmus",
    targets: [
        .target(name: "Litmus"),
        .executableTarget(name: "check-litmus", dependencies: ["Litmus"]),
        .testTarget(name: "LitmusTests", dependencies: ["Litmus"]),
    ],
    swiftLanguageModes: [.v6]
)
