// SPDX-License-Identifier: Apache-2.0
//
// Commits of two properties, reads and snapshots: Latch.prepare, Latch.settle and Latch.resolve in
// Property/Latch+Preparing.swift, CommitDecision in Reclamation, Group.commit and Group.snapshot in
// Transaction.
//
// A committer has both locks. For each property it writes the new value to the spare slot, names
// itself as the owner, and stores the version with the mark "prepared". Then it stores 1,
// "committed", in its decision: that changes both. Then it settles each version, and releases the
// locks. Its next commit begins with 0 in the decision, "undecided". A reader that finds the mark
// loads the owner, then the owner's decision, takes the slot that this names, and looks whether the
// version's word is the same.
//
// Values are the versions that they belong to. What a committer stores goes through a store buffer,
// and reaches memory in order (x86-64). With WEAK, relaxed stores overtake older ones of other
// words, back to the last fence; a release overtakes nothing (the part of arm64 that matters to
// writers). Only readers look at these words without a lock, so "a store reaches memory" is a
// choice before each of their loads. Readers' loads are in order.
//
// COMMITTERS  threads that commit, COMMITS times each
// SETS        plain changes of the first property, by one more thread
// READERS     threads that read the first property, then the second
// SNAPSHOTS   threads that take a snapshot of both: values with their versions, then versions
// STOPS       a committer may stop for good between any two steps
// PINS        values are references: a reader pins what it has found, and looks again; a committer
//             executes the heavy barrier and frees what it has replaced and no reader has pinned

#ifndef COMMITTERS
#define COMMITTERS 1
#endif
#ifndef COMMITS
#define COMMITS 2
#endif
#ifndef SETS
#define SETS 0
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef SNAPSHOTS
#define SNAPSHOTS 0
#endif

#include "Marks.pml"

// The model claims:
hidden byte wholeValues;      // P2: the value belongs to the version
hidden byte oneSeenAllSeen;   // P19: who has read the first property reads the second as it was then, or a later one
hidden byte presentTogether;  // P20: a snapshot's versions were present at one moment
hidden byte neverBackwards;   // P2: a thread's later read finds no earlier version
hidden byte valueInUse;       // P14: a value is freed only when no reader uses it
hidden byte everyChangeCounts;   // P2: versions without gaps
hidden byte aPreparedVersionIsRead, undecidedIsRead; // windows

#define PREPARED 8
#define NUMBER(word) ((word) & 7)
#define isPrepared(word) ((word) >= PREPARED)

// Words of memory, as threads without a lock see them.
#define VERSION(property) ((property) * 4)
#define OWNER(property) ((property) * 4 + 1)
#define SLOT(property, number) ((property) * 4 + 2 + ((number) & 1))
#define DECISION(committer) (8 + (committer))
#define FENCE 15
byte memory[8 + COMMITTERS];

#if SETS
#define WRITERS (COMMITTERS + 1)
#else
#define WRITERS COMMITTERS
#endif
bit locked[2];
byte busy;

// The versions that were present: how many changes each property has had, and the pairs so far.
byte present[2];
bit together[64];
byte secondAt[8]; // the second one's version when the first came to its own
hidden byte place, which, least;

// The store buffers, oldest first.
#define CAPACITY 9
byte words[WRITERS * CAPACITY], values[WRITERS * CAPACITY];
bit relaxed[WRITERS * CAPACITY];
byte buffered[WRITERS];
#define AT(writer, index) (writer) * CAPACITY + (index)

// A change of the first `changed` properties has been seen for the first time. In a d_step.
inline become(first, second) {
  present[0] = present[0] + first;
  present[1] = present[1] + second;
  together[present[0] * 8 + present[1]] = 1;
  if
  :: first -> secondAt[present[0]] = present[1]
  :: else
  fi
}

// The entry at `index` of a writer's buffer reaches memory. In a d_step.
inline reach(writer, index) {
  which = words[AT(writer, index)];
  if
  :: which != FENCE ->
     if
     :: which >= DECISION(0) && values[AT(writer, index)] == 1 -> become(1, 1)
#ifdef NOTHING_IS_PREPARED
     :: which == VERSION(0) && writer < COMMITTERS -> become(1, 1)
#endif
     :: which == VERSION(0) && writer >= COMMITTERS -> become(1, 0)
     :: else
     fi;
     memory[which] = values[AT(writer, index)]
  :: else
  fi;
  buffered[writer]--;
  place = index;
  do
  :: place < buffered[writer] ->
     words[AT(writer, place)] = words[AT(writer, place + 1)];
     values[AT(writer, place)] = values[AT(writer, place + 1)];
     relaxed[AT(writer, place)] = relaxed[AT(writer, place + 1)];
     place++
  :: else -> break
  od;
  words[AT(writer, place)] = 0;
  values[AT(writer, place)] = 0;
  relaxed[AT(writer, place)] = 0;
  place = 0; which = 0
}

inline drain(writer) {
  do
  :: buffered[writer] -> reach(writer, 0)
  :: else -> break
  od
}

inline put(at, number, mayOvertake) {
  d_step {
    if
    :: buffered[self] == CAPACITY -> reach(self, 0)
    :: else
    fi;
    words[AT(self, buffered[self])] = at;
    values[AT(self, buffered[self])] = number;
    relaxed[AT(self, buffered[self])] = mayOvertake;
    buffered[self]++
  }
}
#define storeRelaxed(at, number) put(at, number, 1)
#define storeReleasing(at, number) put(at, number, 0)
#define fence() put(FENCE, 0, 0)

// Whether the entry may be seen before all that are older.
#define PASSES(writer, index, older) (words[AT(writer, older)] != FENCE && words[AT(writer, older)] != words[AT(writer, index)])
#define MAY_OVERTAKE_1(writer) (buffered[writer] > 1 && relaxed[AT(writer, 1)] && PASSES(writer, 1, 0))
#define MAY_OVERTAKE_2(writer) (buffered[writer] > 2 && relaxed[AT(writer, 2)] && PASSES(writer, 2, 0) && PASSES(writer, 2, 1))
#define MAY_OVERTAKE_3(writer) \
  (buffered[writer] > 3 && relaxed[AT(writer, 3)] && PASSES(writer, 3, 0) && PASSES(writer, 3, 1) && PASSES(writer, 3, 2))

// Before a reader's load: stores of any writer reach memory, or do not.
inline storesReach() {
  do
  :: d_step { buffered[0] -> reach(0, 0) }
#if SETS || COMMITTERS > 1
  :: d_step { buffered[1] -> reach(1, 0) }
#endif
#ifdef WEAK
  :: d_step { MAY_OVERTAKE_1(0) -> reach(0, 1) }
  :: d_step { MAY_OVERTAKE_2(0) -> reach(0, 2) }
  :: d_step { MAY_OVERTAKE_3(0) -> reach(0, 3) }
#endif
  :: break
  od
}

// MutationLock.acquire and release: both are exchanges.
inline acquire(property) { atomic { !locked[property] -> locked[property] = 1 } }
inline release(property) { d_step { drain(self); locked[property] = 0 } }

inline mayStop() {
#ifdef STOPS
  if
  :: true
  :: busy--; goto stopped
  fi
#else
  skip
#endif
}

// Under the locks the writer sees its own stores, and memory has all others.
byte settled[2];

// Latch.prepare.
inline prepare(property) {
#ifdef NOTHING_IS_PREPARED
  fence();
  storeRelaxed(SLOT(property, settled[property] + 1), settled[property] + 1);
  storeReleasing(VERSION(property), settled[property] + 1);
#else
  fence();
  storeRelaxed(SLOT(property, settled[property] + 1), settled[property] + 1);
#ifdef THE_OWNER_IS_NAMED_AFTER_THE_MARK
  storeReleasing(VERSION(property), settled[property] | PREPARED);
  storeRelaxed(OWNER(property), self);
#else
  storeRelaxed(OWNER(property), self);
  inject("commit.prepared")
#ifdef THE_MARK_IS_STORED_RELAXED
  storeRelaxed(VERSION(property), settled[property] | PREPARED);
#else
  storeReleasing(VERSION(property), settled[property] | PREPARED);
#endif
#endif
#endif
}

// Latch.settle.
inline settle(property) {
  d_step { settled[property]++ }
#if !defined(NOTHING_IS_PREPARED)
#ifdef A_MARK_IS_LEFT_BEHIND
  if
  :: property == 0 -> storeReleasing(VERSION(property), settled[property])
  :: else
  fi
#else
  storeReleasing(VERSION(property), settled[property])
#endif
#endif
}

// The committer frees what it has replaced: any reader's pin that is in its store buffer reaches
// memory first.
byte pinned[READERS + SNAPSHOTS + 1];   // as memory has it: 1 + the value, of the first property
byte pinning[READERS + SNAPSHOTS + 1];  // as the reader has it
bit freed[8];

inline free(replaced) {
#ifdef PINS
  d_step {
    drain(self);
    place = 0;
    do
    :: place < READERS + SNAPSHOTS -> pinned[place] = pinning[place]; place++
    :: else -> break
    od;
    place = 0
  }
  d_step {
    least = 1;
    do
    :: place < READERS + SNAPSHOTS ->
       if
       :: pinned[place] == replaced + 1 -> least = 0
       :: else
       fi;
       place++
    :: else -> break
    od;
    place = 0;
    freed[replaced] = least;
    least = 0
  }
#else
  skip
#endif
}

// Group.commit, COMMITS times.
proctype committing(byte self) {
  byte commits;
  byte first;
  do
  :: commits < COMMITS ->
#ifdef LOCKS_ARE_TAKEN_BY_DECLARATION
     first = self & 1;
#endif
     acquire(first);
     acquire(1 - first);
     // The body runs.
     inject("commit.body")
     mayStop();
#if !defined(THE_DECISION_IS_RESET_TOO_EARLY)
     storeReleasing(DECISION(self), 0);
#endif
     prepare(0);
     mayStop();
#ifdef A_PROPERTY_IS_SETTLED_BEFORE_THE_DECISION
     settle(0);
     mayStop();
#endif
     prepare(1);
     mayStop();
#ifndef NOTHING_IS_PREPARED
     storeReleasing(DECISION(self), 1);
#endif
     inject("commit.decided")
     mayStop();
#ifndef A_PROPERTY_IS_SETTLED_BEFORE_THE_DECISION
     settle(0);
#endif
     mayStop();
#ifdef THE_DECISION_IS_RESET_TOO_EARLY
     storeReleasing(DECISION(self), 0);
#endif
     settle(1);
     mayStop();
     release(0);
     // With one committer, `commits` is the number of the first property's replaced value. The
     // second property's values are not freed.
     free(commits);
     release(1);
     commits++
  :: else -> break
  od;
  busy--;
stopped: skip
}

// A plain change of the first property.
proctype setting(byte self) {
  byte sets;
  do
  :: sets < SETS ->
     acquire(0);
     fence();
     d_step { settled[0]++ }
     storeRelaxed(SLOT(0, settled[0]), settled[0]);
     storeReleasing(VERSION(0), settled[0]);
     release(0);
     sets++
  :: else -> break
  od;
  busy--
}

// The version that the word means: Latch.resolve. `found` is the word.
inline resolve(property, found, number) {
  if
  :: !isPrepared(found) -> number = found
  :: else ->
#ifdef A_PREPARED_VERSION_COUNTS_AS_COMMITTED
     number = NUMBER(found) + 1;
#else
     storesReach();
     owner = memory[OWNER(property)];
     inject("read.committer")
     storesReach();
     number = NUMBER(found) + memory[DECISION(owner)];
#ifdef LOOK_FOR_A_PREPARED_VERSION
     window(aPreparedVersionIsRead, number != NUMBER(found));
#endif
#ifdef LOOK_FOR_AN_UNDECIDED_COMMIT
     window(undecidedIsRead, number == NUMBER(found));
#endif
#endif
     owner = 0
  fi
}

// Latch.version, resolved: the word is the same afterwards.
inline loadVersion(property, number) {
  do
  :: storesReach();
     word = memory[VERSION(property)];
     resolve(property, word, number);
#ifdef A_RESOLVED_VERSION_IS_NOT_LOOKED_AT_AGAIN
     break
#else
     if
     :: !isPrepared(word) -> break
     :: else ->
        storesReach();
        if
        :: memory[VERSION(property)] == word -> break
        :: else -> number = 0
        fi
     fi
#endif
  od;
  word = 0
}

// Latch.load.
inline load(property, number) {
  do
  :: storesReach();
     word = memory[VERSION(property)];
     resolve(property, word, number);
     storesReach();
     value = memory[SLOT(property, number)];
#ifdef PINS
     if
     :: property == 0 ->
        // The pin goes to the store buffer; the light barrier.
        pinning[self] = value + 1
     :: else
     fi;
#endif
     inject("read.copied")
#ifdef A_READ_IS_NOT_VALIDATED
     break
#else
     storesReach();
     if
     :: memory[VERSION(property)] == word -> break
     :: else -> d_step { number = 0; value = 0 }
     fi
#endif
  od;
  claim(wholeValues, value == number);
#ifdef PINS
  if
  :: property == 0 ->
     claim(valueInUse, !freed[value]);
     // It uses the value for a while.
     storesReach();
     claim(valueInUse, !freed[value]);
     d_step { pinning[self] = 0; pinned[self] = 0 }
  :: else
  fi;
#endif
  d_step { word = 0; value = 0 }
}

proctype reading(byte self) {
  byte word, owner, value;
  byte x, y, again;
  load(0, x);
  load(1, y);
  claim(oneSeenAllSeen, y >= secondAt[x]);
  load(0, again);
  claim(neverBackwards, again >= x);
  d_step { x = again; again = 0 }
  loadVersion(0, again);
  claim(neverBackwards, again >= x);
  busy--
}

// Group.snapshot: the double collect.
proctype collecting(byte self) {
  byte word, owner, value;
  byte x, y, w0, w1;
  do
  :: load(0, x);
     load(1, y);
#ifdef VERSIONS_ARE_COLLECTED_ONCE
     break
#else
     loadVersion(0, w0);
     loadVersion(1, w1);
     if
     :: x + y == w0 + w1 -> break
     :: else -> d_step { x = 0; y = 0; w0 = 0; w1 = 0 }
     fi
#endif
  od;
  claim(presentTogether, together[x * 8 + y]);
  busy--
}

init {
  byte each;
  atomic {
    together[0] = 1;
    busy = WRITERS + READERS + SNAPSHOTS;
    do
    :: each < COMMITTERS -> run committing(each); each++
    :: else -> break
    od;
#if SETS
    run setting(COMMITTERS);
#endif
    each = 0;
    do
    :: each < READERS -> run reading(each); each++
    :: else -> break
    od;
    do
    :: each < READERS + SNAPSHOTS -> run collecting(each); each++
    :: else -> break
    od;
    each = 0
  }
  busy == 0;
#ifndef STOPS
  claim(everyChangeCounts, present[0] == COMMITTERS * COMMITS + SETS && present[1] == COMMITTERS * COMMITS)
#endif
}
