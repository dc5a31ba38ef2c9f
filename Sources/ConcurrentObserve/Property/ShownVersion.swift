// SPDX-License-Identifier: Apache-2.0

/// A version of a property that a change of a path shows, and those of the properties before it on
/// the path.
///
/// A path numbers its changes itself, and any thread may deliver them. So neither the number nor
/// the thread says what a change was made of. These versions do. A binding of the path that leads
/// back to one of the properties knows by them which version it would replace: if the property has
/// a later one by then, the binding leaves it alone. (P3)
internal final class ShownVersion: Sendable {
    /// What the property shares with its observers. Retained, so that a later property at the same
    /// address is not taken for this one. The property's life is not prolonged. (P11)
    private let core: RegistryCore
    private let version: UInt64
    /// Whether the change carries the very value of this version: the property is the last one.
    private let isValue: Bool
    private let before: ShownVersion?

    /// - Parameter before: The property before this one on the path.
    init(_ version: UInt64, of core: RegistryCore, isValue: Bool, after before: ShownVersion?) {
        (self.version, self.core, self.isValue, self.before) = (version, core, isValue, before)
    }

    /// Which version of a property is shown, and whether the change carries its very value; nil if
    /// the path does not lead through the property or to it.
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
