// SPDX-License-Identifier: Apache-2.0

#if Configuration
public import ConcurrentObserve
public import Configuration

/// Sets a property to the value of a key, each time the key's value differs.
///
/// ```swift
/// let workers = Observed(4)
/// let follower = ConfigFollower(workers, key: "workers", in: config)
/// try await follower.follow()
/// ```
///
/// While the configuration lacks the key, or its value has another type, the property has the value
/// that it had when the follower was made. An equal value is no change. Several followers may share
/// a reader.
///
/// With `ConcurrentObserveServiceLifecycle` it is a `Service`.
public struct ConfigFollower: Sendable {
    private let watch: @Sendable () async throws -> Void

    /// Sets the property until the task is cancelled, or the provider's updates end.
    ///
    /// - Throws: An error of the reader's watch.
    public func follow() async throws { try await watch() }

    /// Follows a key with an integer.
    public init(_ property: Observed<Int>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        let absent = property.value
        watch = {
            try await config.watchInt(forKey: key, isSecret: isSecret, default: absent) { await set(property, to: $0) }
        }
    }

    /// Follows a key with a floating-point number.
    public init(_ property: Observed<Double>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        let absent = property.value
        watch = {
            try await config.watchDouble(forKey: key, isSecret: isSecret, default: absent) {
                await set(property, to: $0)
            }
        }
    }

    /// Follows a key with a Boolean value.
    public init(_ property: Observed<Bool>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        let absent = property.value
        watch = {
            try await config.watchBool(forKey: key, isSecret: isSecret, default: absent) { await set(property, to: $0) }
        }
    }

    /// Follows a key with a text.
    public init(_ property: Observed<String>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        let absent = property.value
        watch = {
            try await config.watchString(forKey: key, isSecret: isSecret, default: absent) {
                await set(property, to: $0)
            }
        }
    }

    /// Follows a key with several texts.
    public init(_ property: Observed<[String]>, key: ConfigKey, in config: ConfigReader, isSecret: Bool = false) {
        let absent = property.value
        watch = {
            try await config.watchStringArray(forKey: key, isSecret: isSecret, default: absent) {
                await set(property, to: $0)
            }
        }
    }
}

private func set<Value: Equatable>(
    _ property: Observed<Value>,
    to updates: ConfigUpdatesAsyncSequence<Value, Never>
) async {
    for await value in updates where value != property.value { property.value = value }
}
#endif
