// SPDX-License-Identifier: Apache-2.0

#if Configuration
public import ConcurrentObserve
public import Configuration

/// Sets a property to the value of a configuration key, whenever the two differ.
///
/// ```swift
/// let workers = Observed(4)
/// let follower = ConfigFollower(workers, key: "workers", in: config)
/// try await follower.follow()
/// ```
///
/// If the configuration has no such key, or the value has another type, the property gets the value
/// that it had when the follower was made. An equal value does not count as a change. Several
/// followers may share a reader.
///
/// With `ConcurrentObserveServiceLifecycle`, the follower is a `Service`.
public struct ConfigFollower: Sendable {
    private let watch: @Sendable () async throws -> Void

    /// Sets the property until the task is cancelled, or the provider sends no more updates.
    ///
    /// - Throws: An error of the reader's watch.
    public func follow() async throws { try await watch() }

    /// Makes a follower of a key whose value is an integer.
    public init(_ property: Observed<Int>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        self.init(property, config) { $0.int(forKey: key, isSecret: isSecret, default: $1) }
    }

    /// Makes a follower of a key whose value is a floating-point number.
    public init(_ property: Observed<Double>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        self.init(property, config) { $0.double(forKey: key, isSecret: isSecret, default: $1) }
    }

    /// Makes a follower of a key whose value is a Boolean.
    public init(_ property: Observed<Bool>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        self.init(property, config) { $0.bool(forKey: key, isSecret: isSecret, default: $1) }
    }

    /// Makes a follower of a key whose value is a string.
    public init(_ property: Observed<String>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        self.init(property, config) { $0.string(forKey: key, isSecret: isSecret, default: $1) }
    }

    /// Makes a follower of a key whose value is an array of strings.
    public init(_ property: Observed<[String]>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        self.init(property, config) { $0.stringArray(forKey: key, isSecret: isSecret, default: $1) }
    }

    /// Makes a follower. It watches snapshots, because a watch of the key may miss updates. In
    /// swift-configuration 1.4.0, a reloaded file compares the old value with the new one as texts,
    /// and delivers no update to the watch of a number or a Boolean value.
    private init<Value: Equatable & Sendable>(
        _ property: Observed<Value>,
        _ config: ConfigReader,
        read: @escaping @Sendable (ConfigSnapshotReader, _ absent: Value) -> Value
    ) {
        let absent = property.value
        watch = {
            try await config.watchSnapshot { snapshots in
                for await snapshot in snapshots {
                    let value = read(snapshot, absent)
                    if value != property.value { property.value = value }
                }
            }
        }
    }
}
#endif
