// SPDX-License-Identifier: Apache-2.0

/// Reads the members of a group one by one. Each adopter reads them in a way of its own.
@usableFromInline
internal protocol MemberReader {
    /// Returns the value of a member.
    func read<Property: ObservableProperty>(_ property: Property) -> Property.Value
}
