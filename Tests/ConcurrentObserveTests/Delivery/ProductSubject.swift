// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The kinds of properties in the product of policies.
enum ProductKind: String, CaseIterable, Sendable {
    case int, string, object, readOnly, weak, oneStepPath, path, optionalPath, weakPath, group, list, map

    /// Whether there are prior deliveries.
    var hasPrior: Bool {
        switch self {
        case .int, .string, .object, .readOnly, .weak, .oneStepPath: true
        default: false
        }
    }

    var isWeak: Bool { self == .weak || self == .weakPath }
    var canRelink: Bool { self == .path || self == .optionalPath || self == .weakPath }

    /// Whether a result that equals the previous one is no change.
    var isDerived: Bool { self == .map }

    /// The filters that compile for this kind.
    var filters: [ProductFilter] { self == .group ? [.none, .rule] : ProductFilter.allCases }
}

/// An object that is equal to others with the same number.
final class ProductObject: WeaklyObservable, Equatable {
    let lifetime = ReferentLifetime()
    let number: Int

    init(_ number: Int) { self.number = number }

    static func == (left: ProductObject, right: ProductObject) -> Bool { left.number == right.number }
}

private final class WeakEnd: ConcurrentObservable {
    let object: WeakObserved<ProductObject>

    init(_ object: ProductObject?) { self.object = WeakObserved(object) }
}

/// The properties of all kinds.
private final class ProductRoot: ConcurrentObservable {
    let number = Observed(0)
    let text = Observed("0")
    let object = Observed(ProductObject(0))
    let weak: WeakObserved<ProductObject>
    let axle = Observed(Axle(Wheel(0), spare: Wheel(0)))
    let end: Observed<WeakEnd>

    init(_ object: ProductObject) {
        weak = WeakObserved(object)
        end = Observed(WeakEnd(object))
    }
}

/// A property of one kind, its changes, and the oracle's knowledge of them.
final class ProductSubject {
    let kind: ProductKind
    private let filter: ProductFilter
    private let root: ProductRoot
    /// Keeps the referents that are not killed.
    private(set) var referents: [(object: ProductObject, isDead: Flag)]
    private var present: ProductValue
    /// The value of the observed property. A derived value leaves out changes itself.
    private(set) var shown: ProductValue
    private(set) var version: UInt64 = 0
    /// Called with every change before it is made.
    var willChange: (ProductOracle.Event) -> Void = { _ in }
    private let sendsPrior: Bool

    init(_ kind: ProductKind, _ filter: ProductFilter, sendsPrior: Bool) {
        (self.kind, self.filter, self.sendsPrior) = (kind, filter, sendsPrior)
        referents = [(ProductObject(0), Flag())]
        root = ProductRoot(referents[0].object)
        present = ProductValue(0, isDead: kind.isWeak ? referents[0].isDead : nil)
        shown = present
    }

    private var isNowhere: Bool { present.number == productNil && kind == .optionalPath }

    /// Returns whether setting this number is a change of the observed property.
    func wouldChange(_ number: Int) -> Bool { !isNowhere && !leavesOut(value(of: number)) }

    func value(of number: Int) -> ProductValue { ProductValue(kind == .map ? number / 2 : number) }

    private func leavesOut(_ value: ProductValue) -> Bool {
        filter == .rule ? productRule(shown.seen, value.seen) : kind == .map && value == shown
    }

    /// Sets the property.
    func set(_ number: Int) {
        if isNowhere { return }
        if sendsPrior { willChange(ProductOracle.Event(reason: .prior, value: present, version: version)) }
        note(referring(number), .valueChanged)
        switch kind {
        case .int, .readOnly, .oneStepPath, .group, .list, .map: root.number.value = number
        case .string: root.text.value = "\(number)"
        case .object: root.object.value = ProductObject(number)
        case .weak: root.weak.value = referents.last!.object
        case .path: root.axle.value.wheel.value.pressure.value = number
        case .optionalPath: root.axle.value.spare.value?.pressure.value = number
        case .weakPath: root.end.value.object.value = referents.last!.object
        }
    }

    /// Leads the path to another property, or to none.
    func relink(_ number: Int, orNowhere: Bool) {
        let isNil = orNowhere && kind == .optionalPath
        let depth = kind == .optionalPath ? 1 : 0
        note(isNil ? ProductValue(productNil) : referring(number), .pathChanged(depth: depth))
        switch kind {
        case .path: root.axle.value = Axle(number)
        case .optionalPath: root.axle.value.spare.value = isNil ? nil : Wheel(number)
        case .weakPath: root.end.value = WeakEnd(referents.last!.object)
        default: break
        }
    }

    /// Ends a referent: the present one, one that was received, or one in an event that waits.
    ///
    /// - Parameter held: A value that a callback holds. Its referent is not ended.
    func kill(_ index: Int, except held: ProductValue?) {
        guard !referents.isEmpty else { return }
        let (_, isDead) = referents[index % referents.count]
        if let held, held.isDead === isDead { return }
        isDead.set()
        if present.isDead === isDead { note(ProductValue(productNil), .valueChanged) }
        referents.remove(at: index % referents.count)
    }

    private func referring(_ number: Int) -> ProductValue {
        guard kind.isWeak else { return value(of: number) }
        let isDead = Flag()
        referents.append((ProductObject(number), isDead))
        return ProductValue(number, isDead: isDead)
    }

    private func note(_ value: ProductValue, _ reason: ChangeReason) {
        present = value
        if leavesOut(value) { return }
        version += 1
        let before = shown
        shown = value
        // A derived value has no path of its own.
        let reason = filter == .rule ? ChangeReason.valueChanged : reason
        willChange(ProductOracle.Event(reason: reason, value: value, version: version, before: before))
    }
}

// MARK: - Observing

extension ProductSubject {
    /// Observes the property behind its filter.
    func begin(_ use: ProductBeginning) -> any ProductAttachment {
        let numberOfObject: @Sendable (ProductObject?) -> Int = { $0?.number ?? productNil }
        return switch kind {
        case .int: filtered(root.number, use) { $0 }
        case .string: filtered(root.text, use) { Int($0)! }
        case .object: filtered(root.object, use) { $0.number }
        case .readOnly: filtered(root.number.readOnly, use) { $0 }
        case .weak: filtered(root.weak, use, numberOfObject)
        case .oneStepPath: filtered(root.property(\.number), use) { $0 }
        case .path: filtered(root.property(\.axle.wheel.pressure), use) { $0 }
        case .optionalPath: filtered(root.property(\.axle.spare.pressure), use) { $0 ?? productNil }
        case .weakPath: filtered(root.property(\.end.object), use, numberOfObject)
        case .group: grouped(Group(root.text, root.number), use) { $0.1 }
        case .list: filtered(PropertyList([root.number]), use) { $0[0] }
        case .map: filtered(root.number.map { $0 / 2 }, use) { $0 }
        }
    }

    private func filtered<Property: ObservableProperty>(
        _ property: Property,
        _ use: ProductBeginning,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> any ProductAttachment where Property.Value: Equatable {
        switch filter {
        case .distinct: use.begin(property.removingDuplicates(), number)
        case .twice: use.begin(property.removingDuplicates().removingDuplicates(), number)
        default: grouped(property, use, number)
        }
    }

    private func grouped<Property: ObservableProperty>(
        _ property: Property,
        _ use: ProductBeginning,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> any ProductAttachment {
        guard filter == .rule else { return use.begin(property, number) }
        return use.begin(property.removingDuplicates { productRule(number($0), number($1)) }, number)
    }
}
