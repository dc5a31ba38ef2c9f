// SPDX-License-Identifier: Apache-2.0

/// A model for the scenarios about paths. A path through it has three steps, and the middle one may
/// lead nowhere.
final class PathRoot: ConcurrentObservable, ObservationSource {
    let first = Observed<UInt64>(0)
    let middle: Observed<PathMiddle>

    init(_ leaf: PathEnd?) { middle = Observed(PathMiddle(leaf)) }

    func cancelAllObservations() { ObservationToken.cancelAll(of: first, middle) }

    /// The number to which a path leads now; 0 if it leads nowhere.
    var present: UInt64 { middle.value.end.value?.number.value ?? 0 }
}

final class PathMiddle: ConcurrentObservable {
    let end: Observed<PathEnd?>

    init(_ end: PathEnd?) { self.end = Observed(end) }
}

final class PathEnd: ConcurrentObservable {
    let number: Observed<UInt64>

    init(_ number: Observed<UInt64>) { self.number = number }

    convenience init(_ number: UInt64) { self.init(Observed(number)) }
}

/// A referent of weak properties.
final class Referent: WeaklyObservable {
    let lifetime = ReferentLifetime()
}

/// A referent with a property.
final class WeakEnd: WeaklyObservable {
    let lifetime = ReferentLifetime()
    let number: Observed<UInt64>

    init(_ number: UInt64 = 0) { self.number = Observed(number) }
}
