// SPDX-License-Identifier: Apache-2.0

/// Reads derived values, or observes them. In each run of their functions, another thread changes
/// the sources. (P23, P24, P25)
struct DisturbedReads {
    let round: Round

    /// The largest number of runs that are disturbed: after them, an evaluation that would not end
    /// by itself ends.
    private static var mostDisturbed: UInt64 { 400 }
    /// The largest number of runs of a function, on present values and on copies together.
    private static var mostRuns: UInt64 { 24 }

    func judge() {
        chain(depth: 3)
        ladder(depth: 8)
        newObjects()
        referents()
        endedObservation()
    }

    /// Disturbs each value of a chain. The whole chain may run only as often as the single values
    /// would.
    private func chain(depth: Int) {
        let (source, runs) = (Observed<UInt64>(0), Tally())
        let disturbed = { @Sendable (before: UInt64, get: borrowing Reader) -> UInt64 in
            if runs.increment() <= Self.mostDisturbed { elsewhere { source.value += 1 } }
            return before + get(source)
        }
        var last = Derived { get in disturbed(get(source), get) }
        for _ in 1..<depth { last = Derived { [last] get in disturbed(get(last), get) } }
        let value = last.value
        round.check(value % UInt64(depth + 1) == 0, "P23.no-mixture", "a chain of \(depth) gives \(value)")
        let count = runs.value
        round.check(count <= Self.mostRuns * UInt64(depth), "P25.ends", "a chain of \(depth) took \(count) runs")
    }

    /// Disturbs a value that depends on a ladder: each value of the ladder reads the previous one
    /// twice.
    private func ladder(depth: Int) {
        let (source, quiet, runs, ladderRuns) = (Observed<UInt64>(0), Observed<UInt64>(1), Tally(), Tally())
        var last = Derived { get in
            ladderRuns.increment()
            return get(quiet)
        }
        for _ in 1..<depth {
            last = Derived { [last] get in
                ladderRuns.increment()
                return get(last) | get(last)
            }
        }
        let derived = Derived { [last] get in
            let first = get(source)
            if runs.increment() <= Self.mostDisturbed { elsewhere { source.value += 1 } }
            return get(source) - first + get(last)
        }
        let value = derived.value
        round.check(value == 1, "P23.no-mixture", "what is above a ladder gives \(value)")
        let (count, most) = (ladderRuns.value, UInt64(depth) * (runs.value + 1))
        round.check(count <= most, "P24.once-on-copies", "a ladder of \(depth) took \(count) runs, \(most) at most")
    }

    /// Disturbs a value whose list leads to a new object in each run, until the other thread
    /// pauses. The previous object continues to change for some time.
    private func newObjects() {
        let mostLed = 2 * Self.mostRuns
        let (number, list, runs) = (Observed<UInt64>(0), Observed([Part(0)]), Tally())
        let derived = Derived { get in
            let (first, parts) = (get(number), get(list))
            let run = runs.increment()
            if run <= mostLed {
                elsewhere {
                    let next = Part(run)
                    next.number.value = run
                    Group(number, parts[0].number, list).commit { transaction in
                        transaction[number] = run
                        if run <= Self.mostRuns { transaction[parts[0].number] = run }
                        transaction[list] = [next]
                    }
                }
            }
            return [first, get(parts[0].number)]
        }
        let value = derived.value
        round.check(value[0] == value[1], "P23.no-mixture", "a new object's number is \(value[1]), not \(value[0])")
        let count = runs.value
        round.check(count <= mostLed + 1, "P25.ends", "a function that was led to new objects ran \(count) times")
    }

    /// Disturbs a value that reads a weak property. In each run the property refers to a new
    /// object, whose number a commit sets at the same time. The previous object dies.
    private func referents() {
        let (first, weak, number, runs) = (Numbered(0), WeakObserved<Numbered>(), Observed<UInt64>(0), Tally())
        let (both, owner) = (Group(weak, number), Guarded<[Numbered]>([first]))
        weak.value = first
        let derived = Derived { get in
            let present = get(number)
            let run = runs.increment()
            if run <= Self.mostDisturbed {
                elsewhere {
                    let next = Numbered(run)
                    both.commit { transaction in
                        transaction[weak] = next
                        transaction[number] = run
                    }
                    _ = owner.withLock { owned in
                        defer { owned = [next] }
                        return owned
                    }
                }
            }
            return [present, get(weak)?.number]
        }
        let value = derived.value
        round.check(value[0] == value[1], "P23.no-mixture") {
            "the referent of \(value[0]!) is \(value[1], default: "nil")"
        }
    }

    /// Disturbs an observed value that reads another source in each run. The observation ends
    /// inside the first run for a change, so no second evaluation begins.
    private func endedObservation() {
        let (items, index, runs) = ((0..<7).map { Observed($0) }, Observed(0), Tally())
        let token = Place<ObservationToken>()
        let derived = Derived { get in
            let place = get(index)
            if let token = token.content {
                token.cancel()
                if runs.increment() <= Self.mostDisturbed { elsewhere { index.value = place + 1 } }
            }
            return get(items[place % items.count])
        }
        _ = token.exchange(derived.observe { _ in checkUserCode("callback") })
        index.value = 1
        _ = token.exchange(nil)
        let count = runs.value
        round.check(count <= Self.mostRuns, "P25.ends", "a function ran \(count) times for an observer that is gone")
    }
}

private final class Numbered: WeaklyObservable {
    let lifetime = ReferentLifetime()
    let number: UInt64
    init(_ number: UInt64) { self.number = number }
}

/// Runs `body` on another thread, and waits for its end.
func elsewhere(_ body: @escaping @Sendable () -> Void) { JoinableThread(body).join() }

private final class Part: Sendable {
    let number: Observed<UInt64>
    init(_ number: UInt64) { self.number = Observed(number) }
}
