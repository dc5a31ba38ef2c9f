// SPDX-License-Identifier: Apache-2.0

// Marks in the protocol's code where `stress` can delay a thread (`inject`). Seeded bugs, which
// break a rule on purpose, have no mark here: they stand under the define. The library that users
// build contains neither: the marks below vanish while it is compiled, names included.
