// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Foundation

final class Service: Sendable {
    let configuration = Observed(Configuration())
    /// How often the file was read, whatever was in it.
    let reloads = Observed(0)
    /// Follows the configuration; nobody else sets it.
    let poolSize = Observed(0)

    func reload(from file: URL) {
        do {
            let new = try Configuration(parsing: String(contentsOf: file, encoding: .utf8))
            // The same again is no news.
            if new != configuration.value { configuration.value = new }
        } catch {
            print("refused: \(error)")
        }
        reloads.modify { $0 += 1 }
    }

    /// Serves a request from beginning to end with one configuration, without a lock and without waiting for a reload.
    func serve(meanwhile: () -> Void) -> String {
        configuration.withValue { configuration in
            meanwhile()
            return "served with timeout \(configuration.timeout)"
        }
    }

    /// Reads the file again whenever the process gets SIGHUP from now on, for as long as the source that this returns is kept.
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
