// SPDX-License-Identifier: Apache-2.0

#if Etcd
extension MirrorConfiguration {
    /// The order in which a mirror tries its servers. The mirror prefers the first one.
    public struct ServerOrder: Sendable, Hashable {
        private enum Value: Hashable {
            case asGiven
            case shuffled(seed: UInt64?)
        }
        private let value: Value

        /// The order of the configuration. All mirrors with this configuration prefer the same
        /// server.
        public static let asGiven = ServerOrder(value: .asGiven)

        /// A random order for each mirror. Many mirrors then spread over all servers.
        public static let shuffled = ServerOrder(value: .shuffled(seed: nil))

        /// A random order that the seed determines: the same seed gives the same order.
        public static func shuffled(seed: UInt64) -> ServerOrder { ServerOrder(value: .shuffled(seed: seed)) }

        func arrange<Server>(_ servers: [Server]) -> [Server] {
            switch value {
            case .asGiven: return servers
            case .shuffled(nil): return servers.shuffled()
            case .shuffled(let seed?):
                var generator = SplitMix(state: seed)
                return servers.shuffled(using: &generator)
            }
        }
    }
}

/// A random number generator that its seed determines: Steele, Lea and Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
#endif
