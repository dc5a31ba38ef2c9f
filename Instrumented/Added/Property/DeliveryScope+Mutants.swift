// SPDX-License-Identifier: Apache-2.0

extension DeliveryScope {
    /// A number that no change has.
    func relayedAsNothing(of source: SourceIdentity) -> DeliveryScope { DeliveryScope(.max, of: source) }
}
