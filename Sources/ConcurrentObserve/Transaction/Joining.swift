// SPDX-License-Identifier: Apache-2.0

/// How a combination observes something that has a value, which it does not retain.
///
/// A group or list that is a member is not observed itself: its own members join the combination, so that a commit reaches it under the
/// members' locks. (P11, P21)
@usableFromInline
internal struct Joining<Value: Sendable>: Sendable {
    /// Adds the properties of which the value is made. Returns how it is read; nil if one of them is gone.
    let join: @Sendable (any Joined) -> (@Sendable () -> Value)?

    init(_ join: @escaping @Sendable (any Joined) -> (@Sendable () -> Value)?) { self.join = join }
}

extension ObservableProperty {
    /// How a combination observes the property.
    internal var joining: Joining<Value> {
        if let group = self as? any Joinable { return group.makeJoining(as: Value.self) }
        let attach = weakAttachment
        return Joining { (combination: any Joined) -> (@Sendable () -> Value)? in
            guard let slot = combination.join(attach) else { return nil }
            return { slot.value }
        }
    }
}

/// A combination, as what joins it knows it.
internal protocol Joined: AnyObject, Sendable {
    /// Observes a property. Returns where its latest value is; nil if the property is gone.
    func join<Member: Sendable>(_ attach: WeakAttachment<Member>) -> MemberSlot<Member>?
}

/// A group or a list.
internal protocol Joinable {
    func makeJoining<Value: Sendable>(as value: Value.Type) -> Joining<Value>
}

extension Group: Joinable {
    // Safe to force, both: the caller has the type from this one.
    func makeJoining<Other: Sendable>(as value: Other.Type) -> Joining<Other> { makeJoining() as! Joining<Other> }
}

extension PropertyList: Joinable {
    func makeJoining<Other: Sendable>(as value: Other.Type) -> Joining<Other> { makeJoining() as! Joining<Other> }

    /// How the list is observed.
    func makeJoining() -> Joining<[Property.Value]> {
        let joinings = properties.map(\.joining)
        return Joining { (combination: any Joined) -> (@Sendable () -> [Property.Value])? in
            let reads = joinings.compactMap { $0.join(combination) }
            guard reads.count == joinings.count else { return nil }
            return { reads.map { $0() } }
        }
    }
}
