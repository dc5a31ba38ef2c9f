// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import checks

extension Checkout {
    /// The repository that these tests are of.
    static var repository: Checkout {
        get throws { try Checkout(root: URL(fileURLWithPath: repositoryPath)) }
    }

    static let repositoryPath = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/")

    /// Files with a licence, and nothing else.
    init(_ files: [String: String]) {
        self.init()
        for (path, text) in files { plant(path, text) }
    }

    /// A copy of it with other files.
    func with(_ path: String, _ text: String, tracked: Bool = true) -> Checkout {
        var copy = self
        copy.plant(path, text, tracked: tracked)
        return copy
    }
}

/// The text of an error; nil if there is none.
func message(of body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch let failure as Failure {
        return failure.lines.joined(separator: "\n")
    } catch {
        return "\(error)"
    }
}
