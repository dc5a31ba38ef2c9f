// SPDX-License-Identifier: Apache-2.0

extension ObserverRegistry {
    @usableFromInline
    func startWrongly(_ observer: Observer) -> ObservationToken? {
        if mutant(.anObserverReceivesItsOwnThreadsEventsAlone) { observer.noteThread() }
        guard mutant(.observeReturnsBeforePublishing) else { return nil }
        _ = LibraryThread.start(named: "mutant") { [self] in observers.core().append(observer) }
        return ObservationToken(observer)
    }
}
