// SPDX-License-Identifier: Apache-2.0

#if Configuration
public import ConcurrentObserve
public import Configuration

/// A provider for swift-configuration that takes its values from a property, such as a derived
/// dictionary or the contents of a mirror.
///
/// ```swift
/// let limits = Derived { get in
///     ["workers": "\(get(model.workers))", "http.timeout": "\(get(model.timeout))"]
/// }
/// let config = ConfigReader(provider: ObservedProvider(limits))
/// let workers = config.int(forKey: "workers", default: 1)
/// ```
///
/// The components of the reader's key, joined by dots, are the key in the property. A text is
/// decoded as the type that the reader asks for. A Boolean value is `true`, `yes`, `1`, `false`,
/// `no` or `0`. Bytes are base64. The elements of an array are between commas, and spaces around an
/// element are ignored.
///
/// Reading never waits, and returns the present value of the property. A watch begins with the
/// present value, and receives another value when the value of its key differs. A slow reader
/// receives the latest one (P1, P2). A snapshot is one value of the property, so its keys belong
/// together. Any thread may use the provider. It retains the property.
public struct ObservedProvider: ConfigProvider {
    public let providerName: String
    private let present: @Sendable () -> Texts
    private let updates: @Sendable (Lookup) -> ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>
    private let snapshots: @Sendable () -> ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>

    /// Makes a provider of the texts of `property`.
    ///
    /// - Parameters:
    ///   - property: The texts of all keys.
    ///   - name: A name for the log, useful if a process has several providers.
    public init(_ property: some ObservableProperty<[String: String]>, name: String? = nil) {
        self.init(property, name: name) { texts, key in texts[key] }
    }

    /// Makes a provider of the texts that `text` finds in the value of `property`. At each change
    /// of the property, `text` is called for each watch.
    ///
    /// - Parameters:
    ///   - property: The property whose value contains the texts.
    ///   - name: A name for the log, useful if a process has several providers.
    ///   - text: Returns the text of a key in a value of the property, or nil if the value has no
    ///     such key. Any thread may call it, and several may at once.
    public init<Property: ObservableProperty>(
        _ property: Property,
        name: String? = nil,
        text: @escaping @Sendable (Property.Value, String) -> String?
    ) {
        let providerName = "ObservedProvider" + (name.map { "[\($0)]" } ?? "")
        let texts: @Sendable (Property.Value) -> Texts = { value in
            Texts(providerName: providerName) { key in text(value, key) }
        }
        self.providerName = providerName
        present = { texts(property.value) }
        updates = { lookup in
            // With a derived value, a change of another key causes no update.
            let result = Derived(property) { value in lookup.result(in: texts(value)) }
            // Duplicates are also removed here, because changes may be dropped for a slow reader.
            // The sequence does not retain the derived value, so the closure does.
            return ConfigUpdatesAsyncSequence(
                result.removingDuplicates().values(options: .initial, buffering: .latest).map { update in
                    withExtendedLifetime(result) { update.mapError { $0 } }
                }
            )
        }
        snapshots = {
            ConfigUpdatesAsyncSequence(property.values(options: .initial, buffering: .latest).map { texts($0) })
        }
    }

    /// Returns the present value of `key`, or a result without a value if the property has no such
    /// key.
    ///
    /// - Throws: `Mismatch` if the text cannot be decoded as `type`.
    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        try present().value(forKey: key, type: type)
    }

    /// Returns the present value of `key`, or a result without a value if the property has no such
    /// key. It does not fetch anything: the property always has the present value.
    ///
    /// - Throws: `Mismatch` if the text cannot be decoded as `type`.
    public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
        try value(forKey: key, type: type)
    }

    /// Passes `updatesHandler` a sequence of the present result, and of every later result that
    /// differs. The sequence finishes when the task is cancelled.
    public func watchValue<Return: ~Copyable>(
        forKey key: AbsoluteConfigKey,
        type: ConfigType,
        updatesHandler: (ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws -> Return
    ) async throws -> Return {
        try await updatesHandler(updates(Lookup(key, type)))
    }

    /// Returns a snapshot with the present value of the property.
    public func snapshot() -> any ConfigSnapshot { present() }

    /// Passes `updatesHandler` a sequence of the present snapshot and of later ones. A slow reader
    /// receives the latest.
    public func watchSnapshot<Return: ~Copyable>(
        updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
    ) async throws -> Return {
        try await updatesHandler(snapshots())
    }

    /// The error that is thrown if a text cannot be decoded as the type that a reader asks for.
    public struct Mismatch: Error, Equatable, CustomStringConvertible {
        /// The key, with its components joined by dots.
        public let key: String
        /// The type that the reader asks for.
        public let type: ConfigType

        // The description does not show the text, which may be a secret.
        public var description: String { "the text of '\(key)' is no value of the type \(type.rawValue)" }
    }
}

/// A snapshot: one value of the property.
private struct Texts: ConfigSnapshot {
    let providerName: String
    /// Returns the text of a key.
    let text: @Sendable (String) -> String?

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        try Lookup(key, type).result(in: self).get()
    }
}

/// The key and the type that a reader asks for.
private struct Lookup: Sendable {
    let key: String
    let type: ConfigType

    init(_ key: AbsoluteConfigKey, _ type: ConfigType) {
        self.key = key.components.joined(separator: ".")
        self.type = type
    }

    func result(in texts: Texts) -> Result<LookupResult, ObservedProvider.Mismatch> {
        guard let text = texts.text(key) else { return .success(LookupResult(encodedKey: key, value: nil)) }
        guard let content = decode(text) else { return .failure(.init(key: key, type: type)) }
        return .success(LookupResult(encodedKey: key, value: ConfigValue(content, isSecret: false)))
    }

    private func decode(_ text: String) -> ConfigContent? {
        switch type {
        case .string: .string(text)
        case .int: Int(text).map { .int($0) }
        case .double: Double(text).map { .double($0) }
        case .bool: bool(text).map { .bool($0) }
        case .bytes: bytes(text).map { .bytes($0) }
        case .stringArray: .stringArray(elements(of: text))
        case .intArray: elements(of: text, Int.init).map { .intArray($0) }
        case .doubleArray: elements(of: text, Double.init).map { .doubleArray($0) }
        case .boolArray: elements(of: text, bool).map { .boolArray($0) }
        case .byteChunkArray: elements(of: text, bytes).map { .byteChunkArray($0) }
        }
    }

    private func bool(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "1": true
        case "false", "no", "0": false
        default: nil
        }
    }

    private func bytes(_ text: String) -> [UInt8]? { ConfigBytesFromBase64StringDecoder().decode(text) }

    private func elements(of text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { element in
            let rest = element.drop { $0.isWhitespace }
            return String(rest[..<(rest.lastIndex { !$0.isWhitespace }.map(rest.index(after:)) ?? rest.startIndex)])
        }
    }

    /// Returns the elements of a text; nil if one of them cannot be decoded.
    private func elements<Element>(of text: String, _ decode: (String) -> Element?) -> [Element]? {
        let decoded = elements(of: text).map(decode)
        return decoded.contains { $0 == nil } ? nil : decoded.compactMap(\.self)
    }
}
#endif
