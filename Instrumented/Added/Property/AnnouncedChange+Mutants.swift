// SPDX-License-Identifier: Apache-2.0

extension AnnouncedChange {
    /// A number that no change has.
    func relayedAsNothing(of source: SourceIdentity) -> RelayedChange {
        RelayedChange(of: self, .max, of: source, false, true, nil)
    }
}
