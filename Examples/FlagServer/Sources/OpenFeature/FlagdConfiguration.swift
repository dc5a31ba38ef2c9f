// SPDX-License-Identifier: Apache-2.0

extension ProvidedFlags {
    /// The flags as flagd defines them, in JSON. Their version is in the metadata of the set, which
    /// clients receive with each change.
    ///
    /// A flag that only some users get is on for the users whom flagd's `fractional` selects by
    /// their targeting key. It is off for a user without a key.
    ///
    /// It is encoded by hand, like the events of the streams. The names of flags need no escapes.
    var flagdConfiguration: String {
        let all = flags.map { "\"\($0.name)\":\($0.flagdDefinition)" }
        return "{\"flags\":{\(all.joined(separator: ","))},\"metadata\":{\"version\":\(version)}}"
    }
}

extension ProvidedFlag {
    fileprivate var flagdDefinition: String {
        let isForAll = isEnabled && !isForSome
        let targeting =
            isForSome
            ? ",\"targeting\":{\"fractional\":[[\"on\",\(rollout)],[\"off\",\(100 - rollout)]]}" : ""
        return """
            {"state":"ENABLED","variants":{"on":true,"off":false},"defaultVariant":"\(isForAll ? "on" : "off")"\(targeting)}
            """
    }
}
