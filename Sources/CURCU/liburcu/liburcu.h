// SPDX-License-Identifier: Apache-2.0
// Names the system library; the shims that use it are in ../Shims.
#if !__has_include(<urcu/urcu-bp.h>)
#error "ConcurrentObserve needs liburcu (userspace RCU): install liburcu-dev (Debian, Ubuntu) or userspace-rcu-devel (Fedora)"
#endif
