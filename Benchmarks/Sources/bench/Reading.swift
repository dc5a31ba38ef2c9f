// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

// The same reads of a property and of a value behind a mutex, in two forms: one read in a function
// that a loop calls, and a loop into which the reads are inlined. The mutex is faster in one form
// or in the other, depending on how the compiler places the code. A bar must hold in both.

/// Uses a result, so that the compiler does not remove the code that computes it.
@inline(never)
func consume(_ result: Int) { creference_consume(result) }

// MARK: - One at a time

@inline(never)
private func read(_ property: Observed<Int>) -> Int { property.value }

@inline(never)
private func read(_ guarded: MutexInt) -> Int { guarded.value.withLock { $0 } }

@inline(never)
private func read(_ property: Observed<String>) -> String { property.value }

@inline(never)
private func read(_ guarded: MutexString) -> String { guarded.value.withLock { $0 } }

@inline(never)
func readSingly(_ property: Observed<Int>, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= read(property) }
    consume(sum)
}

@inline(never)
func readSingly(_ guarded: MutexInt, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= read(guarded) }
    consume(sum)
}

@inline(never)
func readSingly(_ property: Observed<String>, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= read(property).utf8.count }
    consume(sum)
}

@inline(never)
func readSingly(_ guarded: MutexString, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= read(guarded).utf8.count }
    consume(sum)
}

// MARK: - In a loop

@inline(never)
func readInLoop(_ property: Observed<Int>, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= property.value }
    consume(sum)
}

@inline(never)
func readInLoop(_ guarded: MutexInt, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= guarded.value.withLock { $0 } }
    consume(sum)
}

@inline(never)
func readInLoop(_ property: Observed<String>, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= property.value.utf8.count }
    consume(sum)
}

@inline(never)
func readInLoop(_ guarded: MutexString, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= guarded.value.withLock { $0 }.utf8.count }
    consume(sum)
}

@inline(never)
func lendInLoop(_ property: Observed<String>, _ times: Int) {
    var sum = 0
    for _ in 0..<times { sum &+= property.withValue { $0.utf8.count } }
    consume(sum)
}
