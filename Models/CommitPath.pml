// SPDX-License-Identifier: Apache-2.0
//
// A commit through a path: Commit.runAlongPaths in Transaction/Commit.swift, with PathTrace. The
// path leads from a link to one of two last properties. A commit follows it without a lock, and
// notes the link's version. Then it takes the locks of the link and of the last property, in the
// order of their addresses, and looks at the version again. If it is another one, the commit
// releases the locks, and follows the path again; else its body runs, which adds one to the last
// property.
//
// A link's value follows from its version: the path leads to the property version & 1.
//
//   COMMITTERS   threads that commit through the path, once each
//   LEADERS      threads that lead the path elsewhere by a plain change of the link, once each
//   LEAVERS      threads that commit the link and both last properties: the body adds one where the
//                path leads, and leads it elsewhere

#ifndef COMMITTERS
#define COMMITTERS 2
#endif
#ifndef LEADERS
#define LEADERS 1
#endif
#ifndef LEAVERS
#define LEAVERS 0
#endif

#include "Marks.pml"

// The model claims:
hidden byte pathHeldStill;   // P19: the path leads to the property that the commit changes, from before the body until the end
hidden byte bodyRunsOnce;    // P19: each commit's body runs once
hidden byte nothingIsLost;   // P19: each body's change is there in the end
hidden byte aPathIsFollowedAgain; // window

// In the order of their addresses: a last property, the link, the other last property.
#define FIRST 0
#define LINK 1
#define SECOND 2
#define leadsTo(version) ((version) & 1 -> SECOND : FIRST)

byte holder[3]; // 0, or the thread that has the lock, plus one
byte version;   // the link's
byte sum[3];
byte bodies;
byte busy;

#define acquire(property) atomic { holder[property] == 0 -> holder[property] = self + 1 }
#define release(property) holder[property] = 0

// The body, under the locks.
inline body(last) {
  bodies++;
  claim(pathHeldStill, leadsTo(version) == last);
  inject("commit.body")
  draft = sum[last] + 1;
  claim(pathHeldStill, leadsTo(version) == last);
  sum[last] = draft;
  draft = 0
}

proctype committing(byte self) {
  byte seen, last, draft;
  do
  :: true ->
     d_step { seen = version; last = leadsTo(seen) }
     inject("commit.traced")
#ifdef LOCKS_ARE_TAKEN_ALONG_THE_PATH
     acquire(LINK);
     acquire(last);
#else
     if
     :: last == FIRST -> acquire(FIRST); acquire(LINK)
     :: else -> acquire(LINK); acquire(SECOND)
     fi;
#endif
     if
#ifndef A_PATHS_LINKS_ARE_NOT_CHECKED_AGAIN
     :: seen != version ->
#ifdef LOOK_FOR_A_PATH_THAT_IS_FOLLOWED_AGAIN
        window(aPathIsFollowedAgain, 1);
#endif
        release(LINK);
        release(last)
#endif
#ifdef A_PATHS_LINKS_ARE_NOT_CHECKED_AGAIN
     :: true ->
#else
     :: else ->
#endif
#ifdef THE_LINK_IS_RELEASED_BEFORE_THE_BODY
        release(LINK);
        body(last);
#else
        body(last);
        release(LINK);
#endif
        release(last);
        break
     fi
  od;
  seen = 0;
  last = 0;
  busy--
}

// A plain change of the link.
proctype leading(byte self) {
  acquire(LINK);
  version++;
  release(LINK);
  busy--
}

// A commit of all three: no path is followed, the body reads the link.
proctype leaving(byte self) {
  byte draft;
  acquire(FIRST);
  acquire(LINK);
  acquire(SECOND);
  bodies++;
  d_step { draft = leadsTo(version); sum[draft]++; draft = 0; version++ }
  release(FIRST);
  release(LINK);
  release(SECOND);
  busy--
}

init {
  byte each;
  atomic {
    busy = COMMITTERS + LEADERS + LEAVERS;
    do
    :: each < COMMITTERS -> run committing(each); each++
    :: else -> break
    od;
    do
    :: each < COMMITTERS + LEADERS -> run leading(each); each++
    :: else -> break
    od;
    do
    :: each < COMMITTERS + LEADERS + LEAVERS -> run leaving(each); each++
    :: else -> break
    od;
    each = 0
  }
  busy == 0;
  claim(bodyRunsOnce, bodies == COMMITTERS + LEAVERS);
  claim(nothingIsLost, sum[FIRST] + sum[SECOND] == COMMITTERS + LEAVERS)
}
