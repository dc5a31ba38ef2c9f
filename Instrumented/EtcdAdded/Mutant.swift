// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Whether a seeded bug is on: the one that the environment names.
func mutant(_ bug: SeededBug) -> Bool { bug == chosen }

// Safe: the text is copied while nothing changes the environment.
private let chosen: SeededBug? = unsafe getenv("SEEDED_BUG").flatMap { SeededBug(rawValue: unsafe String(cString: $0)) }
