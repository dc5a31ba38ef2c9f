// SPDX-License-Identifier: Apache-2.0

/// The function of a successor.
internal struct WeakFunction: Sendable {
    let run: @Sendable (Collector) -> Void
    /// Retains what the function needs; false if some of it is gone.
    let hold: @Sendable (inout HeldSources) -> Bool
}

extension Collector {
    /// Receives from the function of a derived value the sources that it names, and the same function for others in their place.
    ///
    /// - Parameters:
    ///   - compute: The function, which receives values that were present together.
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

    /// As above, for two sources.
    @usableFromInline @inline(never)
    func weaken<First: ObservableProperty, Second: ObservableProperty>(
        _ first: First,
        _ second: Second,
        finish: @escaping @Sendable (Collector, First.Value, Second.Value) -> Void
    ) {
        let sources = (WeakSource(first), WeakSource(second))
        state.weakFunction = WeakFunction(
            run: { collector in
                collector.snapshot {
                    let values = (collector.read(sources.0.present), collector.read(sources.1.present))
                    return { finish(collector, values.0, values.1) }
                }
            },
            hold: { held in sources.0.hold(&held) && sources.1.hold(&held) }
        )
    }
}

extension Collector {
    /// As above, for one source.
    @usableFromInline @inline(never)
    func weaken<Source: ObservableProperty>(
        only source: Source,
        run: @escaping @Sendable (Collector, Source) -> Void
    ) {
        let source = WeakSource(source)
        state.weakFunction = WeakFunction(run: { collector in run(collector, source.present) }, hold: source.hold)
    }

    /// As above, of a function that reads all that it needs before it computes.
    @usableFromInline @inline(never)
    func weaken<Source: ObservableProperty>(
        only source: Source,
        finish: @escaping @Sendable (Collector, Source.Value) -> Void
    ) {
        weaken(
            only: source,
            run: { collector, source in
                collector.snapshot {
                    let value = collector.read(source)
                    return { finish(collector, value) }
                }
            }
        )
    }
}
