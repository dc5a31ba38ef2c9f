// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Foundation

/// A property whose value is kept in a file, so that it is there again when the service restarts.
///
/// The file is written behind the property: a setter does not wait for the disk. While a file is
/// being written, later values replace each other, so the disk sees the last one. The new file
/// replaces the old one in one step, so a process that is killed leaves a whole file, the old or
/// the new one.
final class SavedProperty<Value: Codable & Sendable>: Sendable {
    let property: Observed<Value>
    /// The version of the property that is in the file; nil before the first write.
    private let saved = Observed<UInt64?>(nil)
    private let writing: ObservationToken

    /// Makes a property with the value of the file, or with `initial` if there is no file.
    ///
    /// - Throws: An error of reading or decoding the file. A damaged file is not overwritten.
    init(_ initial: Value, in file: URL, onFailure: @escaping @Sendable (any Error) -> Void) throws {
        let property: Observed<Value>
        if FileManager.default.fileExists(atPath: file.path) {
            property = Observed(try JSONDecoder().decode(Value.self, from: Data(contentsOf: file)))
        } else {
            property = Observed(initial)
        }
        self.property = property
        // On a queue, so not on the thread that sets. Of the values that wait only the latest is
        // kept. With `.initial`, the file is there soon after the first start, too.
        let delivery = Delivery.queue(DispatchQueue(label: "disk"), buffering: .latest)
        writing = property.observe(options: .initial, delivery: delivery) { [saved] change in
            do {
                // `.atomic` writes another file, and renames it.
                try JSONEncoder().encode(change.new).write(to: file, options: .atomic)
                saved.value = change.version
            } catch {
                // The next change tries again.
                onFailure(error)
            }
        }
    }

    /// Waits until the present value is in the file, for a shutdown, and writes no later one. Until
    /// then, only this object may write the file.
    ///
    /// - Throws: `ObservationTimeout` if the disk takes longer than `limit`.
    func close(within limit: Duration) async throws {
        let version = property.version
        _ = try await saved.first(timeout: limit) { $0.map { $0 >= version } ?? false }
        await writing.cancelAndWait()
    }
}
