// SPDX-License-Identifier: Apache-2.0

/// Thrown if the port of flagd's protocol cannot be used.
package struct CannotListen: Error, CustomStringConvertible {
    let host: String
    let port: Int
    let cause: any Error

    package var description: String { "cannot listen at \(host):\(port): \(cause)" }
}
