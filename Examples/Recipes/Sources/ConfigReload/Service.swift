// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Foundation

final class Service: Sendable {
    private let current = Observed(Configuration())
    /// Only `reload(from:)` changes it.
    var configuration: ReadOnly<Configuration> { current.readOnly }

    /// How often the file was read, whatever was in it.
    var reloads: ReadOnly<Int> { reads.readOnly }
    private let reads = Observed(0)

    /// Follows the configuration.
    let poolSize = Observed(0)

    func reload(from file: URL) {
        do {
            let new = try Configuration(parsing: String(contentsOf: file, encoding: .utf8))
            // Setting an equal value would be a change, too.
            if new != current.value { current.value = new }
        } catch {
            print("refused: \(error)")
        }
        reads.modify { $0 += 1 }
    }

    /// Serves a request from beginning to end with one configuration, without a lock and without
    /// waiting for a reload.
    func serve(meanwhile: () -> Void) -> String {
        current.withValue { configuration in
            meanwhile()
            return "served with timeout \(configuration.timeout)"
        }
    }

    /// Reads the file again each time the process receives SIGHUP, for as long as the caller keeps
    /// the source.
    func reloadOnHangUp(from file: URL) -> any DispatchSourceSignal {
        signal(SIGHUP, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        source.setEventHandler { [weak self] in self?.reload(from: file) }
        // The source is set up on another thread: a signal that came before would be lost.
        let registered = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { registered.signal() }
        source.activate()
        registered.wait()
        return source
    }
}
