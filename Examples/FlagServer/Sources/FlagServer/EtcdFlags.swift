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
        var configuration = EtcdConfiguration(endpoints: urls)
        // A member that stands still keeps changes back for three seconds at most, and another is asked.
        configuration.probeInterval = .seconds(1)
        configuration.probeTimeout = .seconds(2)
        let mirror = EtcdMirror<Flag>(
            .prefix("/flags/"),
            at: configuration,
            coding: .flags,
            logger: logger,
            factory: metrics,
            label: "flags"
        )
        let status = Observed(ProviderStatus.notReady)
        let hasFlags = Observed(false)
        services.append(MirroredFlags(mirror: mirror, flags: flags, status: status, hasFlags: hasFlags))
        source = FlagSource(
            change: { changes in
                do {
                    // One transaction of etcd: one revision, which every server of the fleet shows as one commit.
                    try await mirror.set(Dictionary(uniqueKeysWithValues: changes.map { ($0.key.key, $0.value) }))
                } catch let error as EtcdMirrorError {
                    throw SourceUnavailable(message: "\(error)")
                }
            },
            state: { mirror.sourceState },
            status: status.readOnly,
            hasFlags: hasFlags.readOnly
        )
    }
}

/// Keeps the flags equal to the mirror's keys. A key that is not there, or never had a good value, is a flag that is off.
private struct MirroredFlags: Service {
    let mirror: EtcdMirror<Flag>
    let flags: FeatureFlags
    let status: Observed<ProviderStatus>
    let hasFlags: Observed<Bool>

    func run() async throws {
        // On the mirror's task, one revision after the other, each as one commit: when a change has been written, the flags have it.
        let token = mirror.contents.observe { change in
            let changed = Flag.Name.allCases.filter { name in
                change.old?.entries[name.key]?.revision != change.new.entries[name.key]?.revision
            }
            guard !changed.isEmpty else { return }
            flags.change(Dictionary(uniqueKeysWithValues: changed.map { ($0, change.new[$0.key] ?? Flag()) }))
        }
        let states = mirror.state.observe(options: .initial) { change in
            // The mirror has set its contents, and so the flags, before it is ready.
            if case .ready = change.new { hasFlags.value = true }
            status.value = ProviderStatus(change.new)
        }
        defer {
            token.cancel()
            states.cancel()
        }
        try await mirror.run()
    }
}

extension ProviderStatus {
    fileprivate init(_ state: EtcdMirrorState) {
        self =
            switch state {
            case .ready: .ready
            case .stale(_, let error): .stale("\(error)")
            case .connecting(nil): .notReady
            case .connecting(let error?), .failed(_, let error): .error("\(error)")
            }
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
        let errors = contents.value.errors
        return SourceState(
            source: "etcd",
            state: state.name,
            staleSeconds: age,
            error: state.error.map { "\($0)" },
            revision: position.value,
            malformed: Dictionary(
                uniqueKeysWithValues: Flag.Name.allCases.compactMap { name in
                    errors[name.key].map { (name.rawValue, "\($0)") }
                }
            )
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
