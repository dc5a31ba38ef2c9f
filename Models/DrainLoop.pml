// SPDX-License-Identifier: Apache-2.0
//
// No work is lost, and one thread at a time is in the drain loop: DrainLoop.enter and
// DrainLoop.leave in KeyPaths/DrainLoop.swift, with the loop around them, PathObservation.settle in
// KeyPaths/PathObservation+Relinking.swift.
//
//   CHANGES       threads that change a property on the path's way, once each
//   MOST_ROUNDS   rounds after which a thread hands the rest to one of the library

#ifndef CHANGES
#define CHANGES 3
#endif
#ifndef MOST_ROUNDS
#define MOST_ROUNDS 2
#endif

#include "Marks.pml"

// The model claims:
hidden byte oneAtATime;      // one thread at a time relinks the path
hidden byte noWorkLost;      // P3: in the end the path is linked for the last version
hidden byte loopIsLeft;      // in the end no thread is in the loop
hidden byte aNoteIsLeft, theRestIsHandedOn; // windows

#define FREE 0
#define ENTERED 1
#define NOTED 2
byte state = ENTERED; // a path begins inside the loop: it is linked for the first time

byte version;  // the version of the property that changes
byte linked;   // the version for which the path is linked
byte inside;   // threads in the loop
byte handedOn; // relinks that are left to a thread of the library
byte busy;

// DrainLoop.enter: a load, then weak exchanges, which may fail for no reason.
inline enter(hasEntered) {
  seen = state;
  do
  :: atomic {
       state == seen;
#ifdef A_NOTE_IS_LOST
       state = ENTERED;
#else
       state = (seen == FREE -> ENTERED : NOTED);
#endif
#ifdef LOOK_FOR_A_NOTE
       window(aNoteIsLeft, state == NOTED);
#endif
       hasEntered = (seen == FREE);
       seen = 0;
       break
     }
  :: seen = state // has failed: the next try is with what was found
  od
}

// DrainLoop.leave: whether another thread has come in between.
inline leave(hasMore) {
#ifdef THE_DRAIN_LOOP_IS_LEFT_IN_TWO_STEPS
  hasMore = (state == NOTED);
  d_step { state = FREE; inside-- }
#else
  d_step {
    hasMore = (state == NOTED);
    state = FREE;
    inside--
  }
#endif
#ifdef NOTES_ARE_NOT_LOOKED_AT
  hasMore = 0;
#endif
}

// PathObservation.relink: looks which version the property has, then links the path for it. Inside
// the loop.
inline relink() {
  found = version;
  inject("path.relink")
  linked = found;
  found = 0
}

// PathObservation.settle.
inline settle() {
  inject("path.enter")
  rounds = 0;
  do
  :: true ->
     enter(hasEntered);
     if
     :: !hasEntered -> break
     :: else -> hasEntered = 0
     fi;
     d_step { inside++; claim(oneAtATime, inside == 1) }
     relink();
     leave(hasMore);
     if
     :: !hasMore -> break
     :: else
     fi;
     rounds++;
     if
     :: rounds == MOST_ROUNDS ->
#ifndef RACING_REPLACEMENTS_ARE_NOT_HANDED_ON
        handedOn++;
#endif
#ifdef LOOK_FOR_A_HAND_OVER
        window(theRestIsHandedOn, 1);
#endif
        break
     :: else
     fi
  od;
  rounds = 0;
  hasMore = 0
}

#define NOTES \
  byte seen, found, rounds; \
  bit hasEntered, hasMore;

// A thread that changes the property, and then calls the path's link.
proctype changer() {
  NOTES
  version++;
  settle();
  busy--
}

// PathObservation.connect: links the path for the first time, inside the loop.
proctype connector() {
  NOTES
  relink();
  leave(hasMore);
  if
  :: hasMore -> settle()
  :: else
  fi;
  busy--
}

// A thread of the library, with what was handed to it.
proctype libraryThread() {
  NOTES
end:
  do
  :: d_step { handedOn -> handedOn-- }
     settle()
  od
}

init {
  byte started;
  atomic {
    busy = CHANGES + 1;
    inside = 1;
    run connector();
    run libraryThread();
    do
    :: started < CHANGES -> run changer(); started++
    :: else -> break
    od;
    started = 0
  }
  busy == 0;
  timeout;
  claim(noWorkLost, linked == version);
  claim(loopIsLeft, state == FREE && inside == 0)
}
