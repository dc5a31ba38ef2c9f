// SPDX-License-Identifier: Apache-2.0
//
// No retired item is forgotten while the reclamation thread sleeps: ThreadRecord.retire,
// ReclamationThread.wake and ReclamationThread.park, and the EventCount between them, in
// Reclamation.
//
// Threads retire one item each. The push, the store of `isParked`, which stands for the state in
// Parking, and the loads of the other's word after each are sequentially consistent. With less, the
// stores may reach memory later: the push when the thread is done, `isParked` before the
// reclamation thread sleeps.
// Each thread is new: it pushes its record on the list of all before its item. The load of that
// list in the reclamation thread's last look is sequentially consistent, too: an acquiring load may
// be performed before the store of `isParked`, and the model then does that.
//
//   RETIRERS   threads that retire

#ifndef RETIRERS
#define RETIRERS 3
#endif

#include "Marks.pml"

// The model claims:
hidden byte nothingIsForgotten; // P14, P16
hidden byte itSleeps;           // window

byte records; // threads whose record is on the list of all
byte stacks;  // threads with an item on their stack
byte signals, sleepers, busy;
bit isParked = 1, isStarted, isAsleep;

// EventCount.signal.
inline signal() {
#ifdef SLEEPERS_ARE_COUNTED_BEFORE_THE_SIGNAL
  isASleeperThere = (sleepers > 0);
  signals++;
#else
  signals++;
  isASleeperThere = (sleepers > 0);
#endif
  if
  :: isASleeperThere -> isAsleep = 0 // futex wake
  :: else
  fi
}

// EventCount.wait, until the thread sleeps or need not. The kernel compares and puts to sleep in
// one step.
inline fallAsleep() {
  sleepers++;
  atomic {
    if
#ifdef FUTEX_DOES_NOT_COMPARE
    :: true -> isAsleep = 1
#else
    :: signals == ticket -> isAsleep = 1
    :: else
#endif
    fi
  }
}

// ThreadRecord.retire, then ReclamationThread.wake.
proctype retirer(byte self) {
  bit isDelayed, isASleeperThere;
  // ThreadRecords.push
  records = records | SET(self);
  inject("end.retire")
  if
  :: stacks = stacks | SET(self)
#ifdef PUSH_IS_NOT_SEQUENTIALLY_CONSISTENT
  :: isDelayed = 1
#endif
  fi;
#ifndef THE_RECLAMATION_THREADS_WAKE_UP_IS_LOST
  if
  :: isParked ->
     isStarted = 1;
     signal()
  :: else
  fi;
#endif
  d_step { stacks = stacks | (isDelayed << self); busy-- }
}

// ReclamationThread.run.
proctype reclamationThread() {
  byte ticket, taken, seen;
  bit isDelayed;
end_notStarted:
  isStarted;
  isParked = 0;
  do
  :: true ->
     ticket = signals;
     d_step { taken = stacks; stacks = 0 }
     inject("reclaim.taken")
     if
     // There is work, or there has been some of late: a pause.
     :: d_step { true -> taken = 0 }
        fallAsleep();
        // Woken, or after a while.
        isAsleep = 0;
        sleepers--
     // ReclamationThread.park
     :: !taken ->
        if
        :: isParked = 1;
           seen = records
#ifdef THE_LIST_OF_RECORDS_IS_READ_BEFORE_PARKING
        // The processor performs the load first.
        :: seen = records;
           isParked = 1
#endif
#ifdef PARKING_IS_NOT_SEQUENTIALLY_CONSISTENT
        :: isDelayed = 1;
           seen = records
#endif
        fi;
        if
#ifndef STACKS_ARE_NOT_LOOKED_AT_BEFORE_PARKING
        :: stacks & seen
#endif
        :: else ->
           d_step { isParked = isParked | isDelayed; isDelayed = 0 }
#ifdef TICKET_IS_TAKEN_AFTER_THE_LOOK
           ticket = signals;
#endif
           fallAsleep();
#ifdef LOOK_FOR_SLEEP
           window(itSleeps, isAsleep);
#endif
end_parked:
           !isAsleep;
           sleepers--
        fi;
        d_step { isParked = 0; isDelayed = 0; seen = 0 }
     fi
  od
}

init {
  byte started;
  atomic {
    busy = RETIRERS;
    run reclamationThread();
    do
    :: started < RETIRERS -> run retirer(started); started++
    :: else -> break
    od;
    started = 0
  }
  busy == 0;
  timeout;
  claim(nothingIsForgotten, !stacks)
}
