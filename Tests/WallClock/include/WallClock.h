// SPDX-License-Identifier: Apache-2.0
//
// Moves the clock on the wall, only for this process.

#ifndef WALL_CLOCK_H
#define WALL_CLOCK_H

/// From now on the clock on the wall shows so many seconds more than the system's; 0 for the
/// system's. Clocks that never jump stay as they are.
void wall_clock_jump(long seconds);

#endif
