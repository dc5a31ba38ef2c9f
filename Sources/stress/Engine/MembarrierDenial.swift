// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs the command as on a kernel without membarrier.
enum MembarrierDenial {
    /// Makes the system call fail for this process and the programs that it becomes. Then it
    /// restarts the command, because liburcu looks for membarrier before `main`. Returns if the
    /// kernel has no membarrier anyway.
    static func enforce() {
        guard ConcurrentObserveDiagnostics.current().usesMembarrier else { return }
        deny(with: ENOSYS)
        Restart.now()
    }

    /// Makes the system call fail with `code` for the calling thread, the threads it starts, and
    /// the program that the process becomes.
    static func deny(with code: Int32) {
        #if arch(x86_64)
        let number: UInt64 = 324
        #elseif arch(arm64)
        let number: UInt64 = 283
        #endif
        // A filter for seccomp(2): it loads the number of the call, fails if this is membarrier,
        // and otherwise lets the call go on. Each word is one instruction: its code, its jumps and
        // its operand.
        var filter: [UInt64] = [
            0x20, 0x15 | 1 << 24 | number << 32, 0x06 | (0x5_0000 | UInt64(code)) << 32, 0x06 | 0x7FFF_0000 << 32,
        ]
        guard let symbol = unsafe dlsym(nil, "prctl") else { harnessFailure("no prctl") }
        typealias ProcessControl = @convention(c) (CInt, UInt, UInt, UInt, UInt) -> CInt
        // Safe: prctl(2) reads its variable arguments as these words.
        let control = unsafe unsafeBitCast(symbol, to: ProcessControl.self)
        let isDenied = unsafe filter.withUnsafeMutableBytes { instructions in
            var program = (UInt64(instructions.count / 8), UInt64(UInt(bitPattern: instructions.baseAddress)))
            return unsafe withUnsafePointer(to: &program) { program -> Bool in
                // PR_SET_NO_NEW_PRIVS, then PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
                guard control(38, 1, 0, 0, 0) == 0 else { return false }
                return control(22, 2, UInt(bitPattern: program), 0, 0) == 0
            }
        }
        guard isDenied else { harnessFailure("the kernel takes no seccomp filter (error \(errno))") }
    }
}
