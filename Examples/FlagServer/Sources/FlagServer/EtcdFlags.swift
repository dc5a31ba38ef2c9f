// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import ConcurrentObserveEtcd
import Flags
import Foundation
import Logging
import ServiceLifecycle

extension FlagService {
    /// Makes the flags those of etcd's keys `/flags/NAME`, which all servers of a fleet show.
    mutating func follow(etcd urls: [String], metrics: TextMetrics, logger: Logger) {
        let mirror = EtcdMirror<Flag>(
            .prefix("/flags/"),
            at: EtcdConfiguration(endpoints: urls),
            coding: .flags,
            logger: logger,
            factory: metrics,
            label: "flags"
        )
        services.append(MirroredFlags(mirror: mirror, flags: flags))
        source = FlagSource(
            change: { name, flag in
                do {
                    // Whatever it was: a request says what the flag is to be.
                    try await mirror.update(name.key) { _ in flag }
                } catch let error as EtcdMirrorError {
                    throw SourceUnavailable(message: "\(error)")
                }
            },
            state: { mirror.sourceState }
        )
    }
}

/// Keeps the flags equal to the mirror's keys. A key that is not there, or never had a good value, is a flag that is off.
private struct MirroredFlags: Service {
    let mirror: EtcdMirror<Flag>
    let flags: FeatureFlags

    func run() async throws {
        // On the mirror's task, one revision after the other: when a change has been written, its flag has it.
        let tokens = Flag.Name.allCases.map { name in
            mirror.property(name.key).observe { change in
                let flag = change.new ?? Flag()
                if flags[name].value != flag { flags[name].value = flag }
            }
        }
        defer { for token in tokens { token.cancel() } }
        try await mirror.run()
    }
}

extension EtcdMirror where Value == Flag {
    fileprivate var sourceState: SourceState {
        let state = state.value
        let since: ContinuousClock.Instant? =
            switch state {
            case .stale(let since, _): since
            case .failed(let since, _): since
            default: nil
            }
        let age = since.map { $0.duration(to: .now) / .seconds(1) }
        return SourceState(
            source: "etcd",
            state: state.name,
            staleSeconds: age,
            error: state.error.map { "\($0)" },
            revision: position.value
        )
    }
}

extension EtcdCoding where Value == Flag {
    /// `{"enabled": true, "rollout": 25}`, as in the body of a `PUT`.
    fileprivate static var flags: EtcdCoding {
        EtcdCoding(
            decode: { _, bytes in try JSONDecoder().decode(Flag.self, from: Data(bytes)) },
            encode: { flag in Array("{\"enabled\":\(flag.isEnabled),\"rollout\":\(flag.rollout)}".utf8) }
        )
    }
}

extension Flag.Name {
    fileprivate var key: EtcdKey { EtcdKey("/flags/\(rawValue)") }
}
#endif
