// SPDX-License-Identifier: Apache-2.0

#if EXPLORED
import ExplorerKit

typealias Atomic = ExploredAtomic
typealias Mutex = ExploredMutex
#endif
