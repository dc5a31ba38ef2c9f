// SPDX-License-Identifier: Apache-2.0

extension ProvidedFlags {
    /// The flags as flagd defines them, in JSON. The version is the set's metadata, which clients
    /// receive with each change.
    ///
    /// A flag that is rolled out to some of the users is on for those whom flagd's `fractional`
    /// selects by their targeting key, and off for a user without one.
    ///
    /// Written by hand, as the streams' events are. The names of flags need no escapes.
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
