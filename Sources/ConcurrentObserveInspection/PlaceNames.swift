// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObservePlatform
import Runtime

/// Finds the places of calls by the addresses of the calls.
///
/// Looking up a call takes some milliseconds, and all calls of a backtrace are looked up together.
/// Each address is looked up once, until the recording stops. Memory is bounded, because the
/// program has a limited number of calls. The Runtime module keeps the debug information that it
/// reads, tens of megabytes, for each thread that uses it, until the thread exits. Therefore a
/// thread of the library does each batch, and then exits.
internal final class PlaceNames: @unchecked Sendable {
    // Unchecked: `known` is guarded by `lock`.
    private static let shared = PlaceNames()

    /// The calls at each address, inlined calls first, except calls of the library and the runtime.
    /// The array is empty if nothing is known about the address.
    typealias Names = [Backtrace.Address: [Origin.Place]]

    /// The caller whose batch is being looked up holds this lock. No thread takes it while it holds
    /// `lock`.
    private let batch = Lock()
    private let lock = Lock()
    private var known: Names = [:]

    private init() {}

    /// Returns the places at which the observations were made, in the same order. The place is nil
    /// if nothing is known about it.
    ///
    /// - Complexity: O(`observations`). At the first observation of a line, its whole backtrace is
    ///   looked up.
    static func places(of observations: [MadeObservation]) -> [String?] {
        let made = observations.map { $0.recorded }
        let places = made.map { $0?.knownPlace }
        let new = zip(made, places).compactMap { $1 == nil ? $0?.origin : nil }
        let names = new.isEmpty ? [:] : names(of: new) { $0.place(in: $1) != nil }
        return zip(made, places).map { made, place in place ?? made?.findPlace(in: names) }
    }

    /// Returns the known names. Before that, looks up the addresses of those `origins` for which
    /// `isEnough` returns false.
    static func names(
        of origins: [Origin],
        _ isEnough: @escaping @Sendable (Origin, Names) -> Bool
    ) -> Names {
        let known = shared.lock.withLock { shared.known }
        if origins.allSatisfy({ isEnough($0, known) }) { return known }
        return shared.batch.withLock {
            // An earlier batch may have found these names in the meantime.
            let known = shared.lock.withLock { shared.known }
            let unknown = origins.filter { !isEnough($0, known) }
            if unknown.isEmpty { return known }
            let names = LibraryThread.run(named: "observe-places") {
                // The names of one backtrace may be enough for other origins.
                unknown.reduce(into: known) { if !isEnough($1, $0) { $1.lookUp(into: &$0) } }
            }
            shared.lock.withLock { shared.known = names }
            return names
        }
    }

    /// Forgets all names.
    static func forget() {
        let forgotten = shared.lock.withLock { () -> Names in
            defer { shared.known = [:] }
            return shared.known
        }
        withExtendedLifetime(forgotten) {}
    }
}

extension Origin {
    /// Whether all addresses of the backtrace have been looked up.
    func hasNames(in names: PlaceNames.Names) -> Bool {
        backtrace?.frames.allSatisfy { names[$0.adjustedProgramCounter] != nil } ?? true
    }

    /// Returns the place that made the observation: the first call whose line is known. If there is
    /// none, the first call.
    ///
    /// - Returns: `.some(nil)` if the backtrace has no place; nil if an address must be looked up
    ///   first.
    func place(in names: PlaceNames.Names) -> Place?? {
        var first: Place?
        guard let frames = backtrace?.frames else { return .some(nil) }
        for frame in frames {
            guard let places = names[frame.adjustedProgramCounter] else { return nil }
            if let place = places.first(where: \.hasLine) { return place }
            first = first ?? places.first
        }
        return .some(first)
    }

    /// Looks up the calls of the backtrace.
    fileprivate func lookUp(into names: inout PlaceNames.Names) {
        guard let backtrace else { return }
        var found: PlaceNames.Names = [:]
        for frame in backtrace.symbolicated()?.frames ?? [] {
            guard let symbol = frame.symbol, let place = Place(symbol) else { continue }
            // A recursive function has the same address several times.
            let known = found[frame.captured.adjustedProgramCounter, default: []]
            if !known.contains(place) { found[frame.captured.adjustedProgramCounter] = known + [place] }
        }
        for frame in backtrace.frames {
            names[frame.adjustedProgramCounter] = found[frame.adjustedProgramCounter] ?? []
        }
    }
}

extension Origin.Place {
    /// Makes the place of a call. Fails for a call of the library or the runtime.
    fileprivate init?(_ symbol: SymbolicatedBacktrace.Symbol) {
        let name = symbol.rawName
        // If no call belongs to the program, only this is known.
        if name.hasPrefix("_ZN5swift34runJobInEstablishedExecutorContext") {
            self.init(function: "a task")
            return
        }
        // A symbol begins with the length of its module's name, and the name.
        let parts = ["", "Platform", "Testing", "Inspection", "Collections", "Configuration", "Etcd"]
        let library = parts.map { "$s\(17 + $0.count)ConcurrentObserve\($0)" }
        let runtime = ["cplatform_", "_ZN5swift", "_ZNK5swift", "swift_", "_swift_", "_dispatch_", "__libc_start"]
        let starts = ["start_thread", "clone", "clone3", "__clone3", "_start"]
        if (library + runtime).contains(where: name.hasPrefix) || starts.contains(name) { return nil }
        let location = symbol.sourceLocation
        self.init(function: symbol.name, path: location?.path ?? "", line: location?.line ?? 0)
    }
}
