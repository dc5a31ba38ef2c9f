// SPDX-License-Identifier: Apache-2.0
//
// No work is lost, and one thread at a time has the turn: Turn.take and Turn.giveBack in KeyPaths/Turn.swift, with the loop around them,
// PathObservation.settle in KeyPaths/PathObservation.swift.
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

// What is claimed.
hidden byte oneAtATime;      // one thread at a time wires the path
hidden byte noWorkLost;      // P3: in the end the path is wired for the last version
hidden byte turnIsGivenBack; // in the end nobody has the turn
hidden byte somebodyIsNoted, theRestIsHandedOn; // windows

#define FREE 0
#define TAKEN 1
#define NOTED 2
byte state = TAKEN; // a path begins with the turn taken: it is wired for the first time

byte version; // of the property that changes
byte wired;   // the version for which the path is wired
byte holders; // threads that have the turn
byte errands; // handed to a thread of the library
byte busy;

// Turn.take: a load, then weak exchanges, which may fail for no reason.
inline take(hasTurn) {
  seen = state;
  do
  :: atomic {
       state == seen;
#ifdef A_NOTE_IS_LOST
       state = TAKEN;
#else
       state = (seen == FREE -> TAKEN : NOTED);
#endif
#ifdef LOOK_FOR_A_NOTE
       window(somebodyIsNoted, state == NOTED);
#endif
       hasTurn = (seen == FREE);
       seen = 0;
       break
     }
  :: seen = state // has failed: the next try is with what was found
  od
}

// Turn.giveBack: whether somebody has come meanwhile.
inline giveBack(hasMore) {
#ifdef A_TURN_IS_GIVEN_BACK_IN_TWO_STEPS
  hasMore = (state == NOTED);
  d_step { state = FREE; holders-- }
#else
  d_step {
    hasMore = (state == NOTED);
    state = FREE;
    holders--
  }
#endif
#ifdef NOTES_ARE_NOT_LOOKED_AT
  hasMore = 0;
#endif
}

// PathObservation.rewire: looks which version the property has, then wires the path for it. With the turn.
inline rewire() {
  found = version;
  inject("path.rewire")
  wired = found;
  found = 0
}

// PathObservation.settle.
inline settle() {
  inject("path.turn")
  rounds = 0;
  do
  :: true ->
     take(hasTurn);
     if
     :: !hasTurn -> break
     :: else -> hasTurn = 0
     fi;
     d_step { holders++; claim(oneAtATime, holders == 1) }
     rewire();
     giveBack(hasMore);
     if
     :: !hasMore -> break
     :: else
     fi;
     rounds++;
     if
     :: rounds == MOST_ROUNDS ->
#ifndef RACING_REPLACEMENTS_ARE_NOT_HANDED_ON
        errands++;
#endif
#ifdef LOOK_FOR_AN_ERRAND
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
  bit hasTurn, hasMore;

// A thread that changes the property, and then calls the path's link.
proctype changer() {
  NOTES
  version++;
  settle();
  busy--
}

// PathObservation.connect: wires the path for the first time, with the turn.
proctype connector() {
  NOTES
  rewire();
  giveBack(hasMore);
  if
  :: hasMore -> settle()
  :: else
  fi;
  busy--
}

// A thread of the library, with what was handed to it.
proctype errandRunner() {
  NOTES
end:
  do
  :: d_step { errands -> errands-- }
     settle()
  od
}

init {
  byte started;
  atomic {
    busy = CHANGES + 1;
    holders = 1;
    run connector();
    run errandRunner();
    do
    :: started < CHANGES -> run changer(); started++
    :: else -> break
    od;
    started = 0
  }
  busy == 0;
  timeout;
  claim(noWorkLost, wired == version);
  claim(turnIsGivenBack, state == FREE && holders == 0)
}
