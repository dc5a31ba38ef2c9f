// SPDX-License-Identifier: Apache-2.0

extension AsymmetricBarrier {
    /// Whether a failure counts as a barrier; traps where it is not repeated.
    static func passesOver(_ error: Int32) -> Bool {
        if mutant(.aFailingBarrierIsNotRepeated) { trapWithoutMembarrier(error) }
        return mutant(.aFailingBarrierIsIgnored)
    }
}
