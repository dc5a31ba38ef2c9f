// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
import ConcurrentObserveEtcd
import FlagServer
import Foundation
import OpenFeature
import ServiceLifecycle

extension FlagService {
    /// Follows etcd's keys `/flags/NAME`, which all servers of a fleet show, and sets the flags to
    /// them.
    mutating func follow(_ configuration: EtcdConfiguration) {
        var configuration = configuration
        // If an etcd member does not respond, changes are delayed by at most three seconds. Then
        // another member is asked.
        configuration.probeInterval = .seconds(1)
        configuration.probeTimeout = .seconds(2)
        let mirror = EtcdMirror<Flag>(
            .prefix("/flags/"),
            at: configuration,
            coding: .flags,
            logger: edge.logger,
            factory: edge.metrics,
            label: "flags"
        )
        let status = Observed(ProviderStatus.notReady)
        let hasFlags = Observed(false)
        services.append(MirroredFlags(mirror: mirror, flags: flags, status: status, hasFlags: hasFlags))
        source = FlagSource(
            change: { [flags] changes, condition in
                do {
                    try await mirror.change(changes, if: condition, flags)
                } catch let error as EtcdMirrorError {
                    throw SourceUnavailable(message: "\(error)")
                }
            },
            reach: { await mirror.reaches($0) },
            state: { mirror.sourceState },
            status: status.readOnly,
            hasFlags: hasFlags.readOnly,
            series: "etcd",
            forgetsRemovals: true
        )
    }
}

/// Keeps the flags equal to the mirror's keys. If a key is missing, or never had a good value, its
/// flag is off.
private struct MirroredFlags: Service {
    let mirror: EtcdMirror<Flag>
    let flags: FeatureFlags
    let status: Observed<ProviderStatus>
    let hasFlags: Observed<Bool>

    func run() async throws {
        // It runs on the mirror's task and makes one commit for each revision. When a write has
        // returned, the flags have the change.
        let token = mirror.contents.observe { change in
            let changed = Flag.Name.allCases.filter { name in
                change.old?.entries[name.key]?.revision != change.new.entries[name.key]?.revision
            }
            guard !changed.isEmpty else { return }
            flags.show(
                changed.map { name in
                    // The number is the same on every server: the transaction that has changed or
                    // removed the key has it.
                    let entry = change.new.entries[name.key]
                    let revision = entry?.revision ?? change.new.revision
                    return FlagState(
                        name: name,
                        flag: entry?.value ?? Flag(),
                        version: UInt64(revision),
                        isKept: entry != nil
                    )
                }
            )
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

extension EtcdMirror where Engine == EtcdEngine, Value == Flag {
    /// Makes one transaction of etcd. It is one revision, which every server of the fleet shows as
    /// one commit.
    fileprivate func change(_ changes: [Flag.Name: Flag], if condition: WriteCondition?, _ flags: FeatureFlags)
        async throws
    {
        var revisions: [EtcdKey: Int64] = [:]
        if let condition {
            let present = flags.snapshot
            try condition.check(present)
            // etcd compares again. The revision of a missing key is 0.
            for state in present.flags where condition.name == nil || condition.name == state.name {
                revisions[state.name.key] = state.isKept ? Int64(state.version) : 0
            }
        }
        do {
            try await set(
                Dictionary(uniqueKeysWithValues: changes.map { ($0.key.key, $0.value) }),
                ifRevisions: revisions
            )
        } catch let error as EtcdMirrorError where error.code == .conflict {
            throw StaleWriter()
        }
    }

    /// Waits until the flags have this revision or a later one; nil stands for the present one.
    /// Waits at most five seconds.
    fileprivate func reaches(_ version: UInt64?) async -> Bool {
        let asked = ContinuousClock.now
        do {
            if let version {
                try await waitUntil(Int64(clamping: version), within: .seconds(5))
            } else {
                try await waitUntilCurrent(within: .seconds(5))
            }
            return true
        } catch {
            // etcd has confirmed the flags since the request came, so it has lost the version, most
            // likely by a restore.
            return lag.value.confirmed.map { $0 > asked } ?? false
        }
    }

    fileprivate var sourceState: SourceState {
        let state = state.value
        let errors = contents.value.errors
        let malformed = Flag.Name.allCases.compactMap { name in errors[name.key].map { (name.rawValue, "\($0)") } }
        return SourceState(
            source: "etcd",
            state: state.name,
            // The time for which changes may be missing. `/readyz` compares it with its limit.
            staleSeconds: state.isReady ? nil : lag.value.age.map { $0 / .seconds(1) },
            error: state.error.map { "\($0)" },
            revision: position.value,
            malformed: Dictionary(uniqueKeysWithValues: malformed)
        )
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

extension EtcdCoding where Value == Flag {
    fileprivate static var flags: EtcdCoding {
        EtcdCoding(
            decode: { _, bytes in try JSONDecoder().decode(Flag.self, from: Data(bytes)) },
            encode: { flag in Array(flag.encoded.utf8) }
        )
    }
}

extension Flag.Name {
    fileprivate var key: EtcdKey { EtcdKey("/flags/\(rawValue)") }
}
#endif
