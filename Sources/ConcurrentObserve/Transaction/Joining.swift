// SPDX-License-Identifier: Apache-2.0

/// Describes how a combination observes something that has a value, without retaining it.
///
/// If a group or a list is a member, it is not observed itself: its own members join the
/// combination. So a commit reaches the combination under the members' locks. (P11, P21)
@usableFromInline
internal struct Joining<Value: Sendable>: Sendable {
    /// Adds the properties from which the value is made. Returns a function that reads it; nil if
    /// one of the properties is gone.
    let join: @Sendable (any Joined) -> (@Sendable () -> Value)?

    init(_ join: @escaping @Sendable (any Joined) -> (@Sendable () -> Value)?) { self.join = join }
}

extension ObservableProperty {
    /// Describes how a combination observes the property.
    internal var joining: Joining<Value> {
        if let group = self as? any Joinable { return group.makeJoining(as: Value.self) }
        let attach = weakAttachment
        return Joining { (combination: any Joined) -> (@Sendable () -> Value)? in
            guard let slot = combination.join(attach) else { return nil }
            return { slot.value }
        }
    }
}

/// A combination, as the properties that join it use it.
internal protocol Joined: AnyObject, Sendable {
    /// Observes a property. Returns the slot that has its latest value; nil if the property is
    /// gone.
    func join<Member: Sendable>(_ attach: WeakAttachment<Member>) -> MemberSlot<Member>?
}

/// A group or a list, whose own members join a combination.
internal protocol Joinable {
    func makeJoining<Value: Sendable>(as value: Value.Type) -> Joining<Value>
}

extension Group: Joinable {
    // Safe to force, both: the caller passes the type of this group's or list's own values.
    func makeJoining<Other: Sendable>(as value: Other.Type) -> Joining<Other> { makeJoining() as! Joining<Other> }
}

extension PropertyList: Joinable {
    func makeJoining<Other: Sendable>(as value: Other.Type) -> Joining<Other> { makeJoining() as! Joining<Other> }

    /// Describes how a combination observes the list.
    func makeJoining() -> Joining<[Property.Value]> {
        let joinings = properties.map(\.joining)
        return Joining { (combination: any Joined) -> (@Sendable () -> [Property.Value])? in
            let reads = joinings.compactMap { $0.join(combination) }
            guard reads.count == joinings.count else { return nil }
            return { reads.map { $0() } }
        }
    }
}
