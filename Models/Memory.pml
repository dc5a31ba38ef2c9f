// SPDX-License-Identifier: Apache-2.0
//
// Part of other models: the walkers' store buffers, barriers and read sections.
//
// Every word is sequentially consistent but the frames' `pin` and `current`: what a walker stores
// there waits in its store buffer, in order, until it reaches memory, at the latest when the buffer
// is full, at a barrier on the walker's thread, or when the thread rests. Only scans load these
// words, so a store need not reach memory but when a scan looks: "the oldest store reaches memory"
// is a choice before each of its loads, which is every behaviour of a store buffer of CAPACITY
// entries (TSO, x86-64).
//
//   WEAK        relaxed stores may overtake older ones of other words, and what a callback or a
//               walk still has to access; release stores overtake nothing (the part of arm64 that
//               matters to the walker)
//   FENCED      no membarrier: fences in the read section and in the light barrier, none in other
//               threads

byte busy; // processes that have not done yet what they are there for

#define WALKERS 2
#define DEPTH 2 // frames of a thread: an outer pass and a nested one
#ifndef CAPACITY
#define CAPACITY 4
#endif

// The words of the frames, as scans see them.
#define PIN(thread, depth) ((thread) * 2 * DEPTH + 2 * (depth))
#define CURRENT(thread, depth) (PIN(thread, depth) + 1)
byte memory[WALKERS * 2 * DEPTH];

// Whether a frame holds it, as far as memory knows.
#define IS_PINNED(table) (memory[PIN(0, 0)] == table || memory[PIN(0, 1)] == table || memory[PIN(1, 0)] == table)
#define IS_CURRENT(observer) \
  (memory[CURRENT(0, 0)] == observer || memory[CURRENT(0, 1)] == observer || memory[CURRENT(1, 0)] == observer)

// Not words: accesses that are still to be made. Only with WEAK.
#define CLOSURE 8
#define TABLE 9

// The store buffers, oldest first. An entry: word, whether it may overtake, value.
byte buffer[WALKERS * CAPACITY];
byte buffered[WALKERS];
#define WORD(thread, place) (buffer[(thread) * CAPACITY + (place)] >> 4)
#define IS_RELAXED(thread, place) ((buffer[(thread) * CAPACITY + (place)] >> 3) & 1)
#define VALUE(thread, place) (buffer[(thread) * CAPACITY + (place)] & 7)
hidden byte place;

// The entry at `first` of a walker's buffer takes effect. In a d_step.
inline takeEffect(thread, first) {
  if
  :: WORD(thread, first) < CLOSURE -> memory[WORD(thread, first)] = VALUE(thread, first)
#ifdef WEAK
  :: WORD(thread, first) == CLOSURE -> closureIsUsable(VALUE(thread, first))
  :: WORD(thread, first) == TABLE -> tableIsUsable(VALUE(thread, first))
#endif
  fi;
  buffered[thread]--;
  place = first;
  do
  :: place < buffered[thread] -> buffer[(thread) * CAPACITY + place] = buffer[(thread) * CAPACITY + place + 1]; place++
  :: else -> break
  od;
  buffer[(thread) * CAPACITY + place] = 0;
  place = 0
}

// All of a walker's stores reach memory. In a d_step.
inline drain(thread) {
  do
  :: buffered[thread] -> takeEffect(thread, 0)
  :: else -> break
  od;
  place = 0
}

// The walker's last store goes to the end of its buffer. In a d_step.
inline put(word, mayOvertake, value) {
  if
  :: buffered[self] == CAPACITY -> takeEffect(self, 0)
  :: else
  fi;
  buffer[self * CAPACITY + buffered[self]] = ((word) << 4) | ((mayOvertake) << 3) | (value);
  buffered[self]++
}
#define storeRelaxed(word, value) d_step { put(word, 1, value) }
#define storeReleasing(word, value) d_step { put(word, 0, value) }

// A callback uses its closure, and a walk uses its table. The access takes effect here at the
// latest; WEAK: when the processor gets to it. In a d_step.
#ifdef WEAK
#define accessClosure(observer) put(CLOSURE, 0, observer)
#define accessTable(table) put(TABLE, 0, table)
#else
#define accessClosure(observer) closureIsUsable(observer)
#define accessTable(table) tableIsUsable(table)
#endif

// Whether an entry may take effect before those in front of it.
#define OTHER(thread, place, older) (WORD(thread, place) != WORD(thread, older))
#define MAY_OVERTAKE_1(thread) (buffered[thread] > 1 && IS_RELAXED(thread, 1) && OTHER(thread, 1, 0))
#define MAY_OVERTAKE_2(thread) \
  (buffered[thread] > 2 && IS_RELAXED(thread, 2) && OTHER(thread, 2, 0) && OTHER(thread, 2, 1))
#define MAY_OVERTAKE_3(thread) \
  (buffered[thread] > 3 && IS_RELAXED(thread, 3) && OTHER(thread, 3, 0) && OTHER(thread, 3, 1) && OTHER(thread, 3, 2))

// A scan's load of a word of a walker's frame: what it sees is in `seen`.
inline look(thread, word, seen) {
  do
  :: d_step { buffered[thread] -> takeEffect(thread, 0) }
#ifdef WEAK
  :: d_step { MAY_OVERTAKE_1(thread) -> takeEffect(thread, 1) }
  :: d_step { MAY_OVERTAKE_2(thread) -> takeEffect(thread, 2) }
  :: d_step { MAY_OVERTAKE_3(thread) -> takeEffect(thread, 3) }
#endif
  :: seen = memory[word]; break
  od
}

// Scans until the word of a walker's frame has another value.
inline waitWhile(thread, word, value) {
  do
  :: d_step { buffered[thread] -> takeEffect(thread, 0) }
#ifdef WEAK
  :: d_step { MAY_OVERTAKE_1(thread) -> takeEffect(thread, 1) }
  :: d_step { MAY_OVERTAKE_2(thread) -> takeEffect(thread, 2) }
  :: d_step { MAY_OVERTAKE_3(thread) -> takeEffect(thread, 3) }
#endif
  :: memory[word] != value -> break
  od
}

// AsymmetricBarrier.light: the walker's side.
inline lightBarrier() {
#if defined(FENCED) && !defined(THE_LIGHT_BARRIER_IS_MISSING)
  d_step { drain(self) }
#else
  skip
#endif
}

// AsymmetricBarrier.heavy: a full barrier at some point of each walker's program order, one walker
// after the other.
inline heavyBarrier() {
#if defined(FENCED) || defined(NO_BARRIER_BEFORE_THE_SCAN)
  skip
#else
  d_step { drain(0) }
  d_step { drain(1) }
#endif
}

// liburcu's read section, which this model trusts: who is inside, and for whom the one grace period
// still waits.
byte inside, awaited;

inline enterSection() {
  inside = inside | SET(self);
#ifdef FENCED
  drain(self)
#endif
}

inline leaveSection() {
#ifdef FENCED
  drain(self);
#endif
  inside = inside & ~SET(self);
  awaited = awaited & ~SET(self)
}

// waitForGracePeriod: waits for the sections that are open now; a barrier on every thread at its
// end.
inline gracePeriod() {
#ifndef GRACE_PERIOD_DOES_NOTHING
#ifdef GRACE_PERIOD_MISSES_ONE_THREAD
  awaited = inside & ~SET(1);
#else
  awaited = inside;
#endif
  awaited == 0;
#ifndef FENCED
#ifndef GRACE_PERIOD_ENDS_WITHOUT_A_BARRIER
  d_step { drain(0) }
  d_step { drain(1) }
#endif
#endif
#else
  skip
#endif
}
