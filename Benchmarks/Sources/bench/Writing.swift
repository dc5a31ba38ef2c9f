// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import OpenCombine

// The same changes of a property, of a value behind a mutex and of a subject, in the two forms of
// the reads.

// MARK: - One at a time

@inline(never)
private func set(_ property: Observed<Int>, _ value: Int) { property.value = value }

@inline(never)
private func set(_ guarded: MutexInt, _ value: Int) { guarded.value.withLock { $0 = value } }

@inline(never)
private func send(_ subject: CurrentValueSubject<Int, Never>, _ value: Int) { subject.send(value) }

@inline(never)
func setSingly(_ property: Observed<Int>, _ times: Int) {
    for value in 0..<times { set(property, value) }
}

@inline(never)
func setSingly(_ guarded: MutexInt, _ times: Int) {
    for value in 0..<times { set(guarded, value) }
}

@inline(never)
func sendSingly(_ subject: CurrentValueSubject<Int, Never>, _ times: Int) {
    for value in 0..<times { send(subject, value) }
}

// MARK: - In a loop

@inline(never)
func setInLoop(_ property: Observed<Int>, _ times: Int) {
    for value in 0..<times { property.value = value }
}

@inline(never)
func setInLoop(_ guarded: MutexInt, _ times: Int) {
    for value in 0..<times { guarded.value.withLock { $0 = value } }
}

@inline(never)
func sendInLoop(_ subject: CurrentValueSubject<Int, Never>, _ times: Int) {
    for value in 0..<times { subject.send(value) }
}

@inline(never)
func modifyInLoop(_ property: Observed<Int>, _ times: Int) {
    for _ in 0..<times { property.modify { $0 &+= 1 } }
}

@inline(never)
func modifyInLoop(_ guarded: MutexInt, _ times: Int) {
    for _ in 0..<times { guarded.value.withLock { $0 &+= 1 } }
}

// MARK: - Values with references, two in turn

@inline(never)
func setInTurn(_ property: Observed<String>, _ pair: (String, String), _ times: Int) {
    for step in 0..<times { property.value = step & 1 == 0 ? pair.0 : pair.1 }
}
