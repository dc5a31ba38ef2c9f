// SPDX-License-Identifier: Apache-2.0
//
// `cancelAndWait` comes to an end though passes over the same table never do: each finds the
// tombstone, or passes the slot once more and finds the mark cleared. Checked under weak fairness:
// who can always go on, goes on.

#include "Marks.pml"

#define TOMBSTONE 7
byte entry[2] = { 1, 2 };
byte current;
bit mark = 1, hasReturned; // the mark of observer 2, and whether the wait for it has returned

// Passes one after the other, as in Walk.pml.
active proctype walker() {
  byte slot, observer;
  do
  :: true ->
     slot = 0;
     do
     :: slot < 2 ->
        observer = entry[slot];
        inject("walk.entry")
        if
        :: observer != TOMBSTONE ->
           inject("walk.marked")
           current = observer;
           inject("walk.current")
           if
           :: observer == 1 || mark -> inject("walk.called") skip
           :: else
           fi
        :: else
        fi;
        slot++
     :: else -> break
     od;
     current = 0;
     inject("walk.cleared")
  od
}

active proctype waiter() {
  inject("end.locked")
#ifdef NO_TOMBSTONE_IS_SET
  mark = 0;
#else
  atomic { mark = 0; entry[1] = TOMBSTONE }
#endif
  inject("wait.scan")
  current != 2;
  inject("wait.destroy")
  hasReturned = 1
}

ltl theWaitEnds { <> hasReturned }
