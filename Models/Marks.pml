// SPDX-License-Identifier: Apache-2.0
//
// Part of every model: injection points, claims, windows and sets.

// Between two steps: another thread may run, and the code of that name has an injection point here.
#define inject(point)

// `holds` must be true; the label is what a counterexample is known by, and is always 0.
#define claim(label, holds) assert(label || (holds))
// A window that must be reached, or the model shows nothing: its configuration expects the
// "violation".
#define window(label, isOpen) assert(label || !(isOpen))

#define SET(element) (1 << (element))
#define has(set, element) (((set) >> (element)) & 1)
