// SPDX-License-Identifier: Apache-2.0

extension ThreadRecord {
    static func releaseHere(_ reference: UInt) {
        waitForGracePeriod()
        releaseReference(reference)
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Visits too many frames, or too few.
    ///
    /// - Returns: False if no bug of this kind is on: then nothing was visited.
    func forEachWrongFrame(_ body: (UnsafeMutablePointer<Frame>) -> Void) -> Bool {
        // Safe: as in forEachFrame(_:), and the record has two frames.
        let depth = unsafe pointee.depth.load(ordering: .acquiring)
        if mutant(.framesThatWereLeftAreScanned) {
            unsafe forEachFrame(below: .max, body)
        } else if mutant(.theInnermostFrameIsNotScanned) {
            unsafe forEachFrame(below: max(1, depth) - 1, body)
        } else if mutant(.outerFramesAreSkipped) {
            unsafe forEachFrame(below: depth) { frame in
                let isOuter =
                    unsafe frame == inlineFrames && (frame + 1).pointee.pin.address.load(ordering: .relaxed) != 0
                if !isOuter { unsafe body(frame) }
            }
        } else {
            return false
        }
        return true
    }
}

extension ThreadRecord {
    /// Takes the lock of the records if the calling thread is inside a call of the library.
    @usableFromInline
    static func takeLockInsideCall() {
        if isInsideCallback { _ = ThreadRecords.shared.count }
    }
}
