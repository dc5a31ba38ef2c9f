// SPDX-License-Identifier: Apache-2.0

extension Transaction {
    /// The draft of the property that a path leads to in the body. Steps that the body has set lead
    /// to their new objects. (P19)
    ///
    /// ```swift
    /// Group(car.property(\.engine.rpm), car.name).commit { transaction in
    ///     transaction[car.property(\.engine.rpm)] += 100
    /// }
    /// ```
    ///
    /// If the path is a member of the group, the properties on the way do not change while the body
    /// runs, and the body may set the last one. It may also set a property on the way, if that
    /// property is a member itself. From then on the path leads along the new object, whose
    /// property must be a member as well.
    ///
    /// If a step is nil, the path leads to no property: it reads as nil, and setting it does
    /// nothing, like an assignment through an optional chain. ``reaches(_:)`` says whether the path
    /// leads to a property. Traps if a property on the way, or the last one, is neither a member of
    /// the group nor read by the commit. Setting also traps if the last property is shown
    /// read-only, if the commit only reads it, or if the value is nil and the property cannot be
    /// nil.
    ///
    /// - Complexity: O(steps · log *n*), with *n* members.
    public subscript<Root, Value>(_ path: Path<Root, Value>) -> Value {
        get {
            guard let object = lastObject(of: path) else { return path.steps.absent! }
            let last = path.steps.last!
            return last.draft(of: last.property(in: object), in: self)
        }
        nonmutating set {
            guard let object = lastObject(of: path) else { return }
            path.steps.last!.setDraft(newValue, in: object, of: self)
        }
    }

    /// Whether a path leads to a property in the body: no step on the way is nil. (P19)
    ///
    /// - Complexity: O(steps · log *n*), with *n* members.
    public func reaches<Root, Value>(_ path: Path<Root, Value>) -> Bool { lastObject(of: path) != nil }

    /// Returns the object that has the last property; nil if a step is nil.
    private func lastObject<Root, Value>(of path: Path<Root, Value>) -> PathObject? {
        var object: PathObject? = path.root
        for link in path.steps.links {
            guard let present = object else { return nil }
            object = link.object(of: link.property(in: present), in: self)
        }
        return object
    }
}

// MARK: - Membership

extension Path: MemberHolding, TracedPath {
    func addMembers(to found: inout FoundMembers) {
        guard steps.links.isEmpty, let last = steps.last else { return found.add(self) }
        found.add(last.property(in: root))
    }

    func follow(_ trace: inout PathTrace) {
        var object: PathObject? = root
        for link in steps.links {
            guard let present = object else { return }
            let property = link.property(in: present)
            let (next, version) = link.sample(property)
            trace.pass(property, at: version, to: next)
            object = next
        }
        guard let object, let last = steps.last else { return }
        trace.end(last.property(in: object))
    }
}
