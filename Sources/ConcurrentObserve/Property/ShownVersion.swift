// SPDX-License-Identifier: Apache-2.0

/// The version of a property that a change of a path shows, linked to those of the properties
/// before it on the path.
///
/// A path numbers its changes itself, and any thread may deliver them. So neither the number nor
/// the thread says what a change was made from. These versions do. A binding of the path that leads
/// back to one of the properties learns from them which version it would replace. If the property
/// has a later one by then, the binding does not change it. (P3)
internal final class ShownVersion: Sendable {
    /// The property's core. It is retained, so that a later property at the same address is not
    /// taken for this one. That does not prolong the property's life. (P11)
    private let core: RegistryCore
    private let version: UInt64
    /// Whether the change carries the value of this version. True only for the last property of a
    /// path.
    private let isValue: Bool
    private let before: ShownVersion?

    /// - Parameter before: The version of the property before this one on the path.
    init(_ version: UInt64, of core: RegistryCore, isValue: Bool, after before: ShownVersion?) {
        (self.version, self.core, self.isValue, self.before) = (version, core, isValue, before)
    }

    /// Returns which version of a property is shown, and whether the change carries its value. Nil
    /// if the path does not lead through the property or to it.
    ///
    /// - Complexity: O(*n*) in the steps of the path.
    func version(of property: SourceIdentity) -> (number: UInt64, isValue: Bool)? {
        var next: ShownVersion? = self
        while let shown = next {
            if property.isOf(shown.core) { return (shown.version, shown.isValue) }
            next = shown.before
        }
        return nil
    }
}
