// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension ValueBox {
    func reclaimHere() {
        waitForGracePeriod()
        reclaim()
    }
}
#endif
