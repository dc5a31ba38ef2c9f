// SPDX-License-Identifier: Apache-2.0

/// The function of a successor, which references its sources weakly.
internal struct WeakFunction: Sendable {
    let run: @Sendable (Collector) -> Void
    /// Retains the objects that the function needs. Returns false if one is gone.
    let hold: @Sendable (inout HeldSources) -> Bool
}

extension Collector {
    /// Stores a function that computes the same from weak references to the sources. A derived
    /// value's function calls this if `outcome.isWeakening`.
    ///
    /// - Parameters:
    ///   - compute: Receives values that were present together.
    ///   - finish: Hands a result to the collector.
    @usableFromInline @inline(never)
    func weaken<Value, First: ObservableProperty, each Other: ObservableProperty>(
        _ first: First,
        _ other: repeat each Other,
        compute: @escaping @Sendable (First.Value, repeat (each Other).Value) -> Value,
        finish: @escaping @Sendable (Collector, Value) -> Void
    ) {
        let first = WeakSource(first)
        let others = (repeat WeakSource(each other))
        state.weakFunction = WeakFunction(
            run: { collector in
                collector.snapshot {
                    let value = collector.read(first.present)
                    let values = (repeat collector.read((each others).present))
                    return { finish(collector, compute(value, repeat each values)) }
                }
            },
            hold: { held in
                guard first.hold(&held) else { return false }
                for other in repeat each others {
                    guard other.hold(&held) else { return false }
                }
                return true
            }
        )
    }

    /// Stores a function that calls `run` with a source, which it references weakly.
    @usableFromInline @inline(never)
    func weaken<Source: ObservableProperty>(
        only source: Source,
        run: @escaping @Sendable (Collector, Source) -> Void
    ) {
        let source = WeakSource(source)
        state.weakFunction = WeakFunction(run: { collector in run(collector, source.present) }, hold: source.hold)
    }
}
