// SPDX-License-Identifier: Apache-2.0
//
// A closure is not destroyed during its callback and not called after its destruction;
// `cancelAndWait` waits for that, and for nothing else; an observer's object lives as long as a
// thread may look at it: `current`, the mark, both forms of the end, and the reclamation thread.
//
// Two threads notify the observers 1 and 2 while others end them.
//
//   PASSES_0, PASSES_1   notifications of each walker
//   WAITS, WAITS_TOO     the observer on which a thread calls cancelAndWait(), or 0
//   CANCELS              the observer on which a thread calls cancel(), or 0
//   GROWS                a thread registers a third observer, which replaces the table
//   NESTS                the first walker's callback of observer 1 notifies again
//   CANCELS_ITSELF       the first walker's callback of observer 1 calls cancelAndWait() on
//                        observer 1
//   CANCEL_EACH_OTHER    the first walker's callback of 1 calls it on 2, the second walker's
//                        callback of 2 calls it on 1
//   CANCELS_THE_OUTER    with NESTS: the nested callback of 2 calls it on 1
//   IS_STUCK             the first walker's callback of observer 1 never returns

#ifndef PASSES_0
#define PASSES_0 1
#endif
#ifndef PASSES_1
#define PASSES_1 1
#endif
#ifndef WAITS
#define WAITS 1
#endif
#ifndef WAITS_TOO
#define WAITS_TOO 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif

#define OBSERVATIONS_END

#include "Marks.pml"

// The model claims:
hidden byte closureInUse;         // P14: a callback uses a closure that is destroyed
hidden byte closureDestroyedOnce; // P14
hidden byte silentAfterWait;      // P9: nothing runs after cancelAndWait() has returned `.finished`
hidden byte silentAfterCancel;    // P8: a notification that begins after cancel() has returned is not delivered
hidden byte finishedIsDestroyed;  // P9: `.finished` means that the closure is destroyed
hidden byte endDeliveredOnce;          // P12
hidden byte objectInUse;          // an observer's object is used after it is freed
hidden byte tableInUse;           // a walk uses a table that is freed
hidden byte entryIsComplete;      // a walk finds an entry that is not written yet
hidden byte closuresDestroyed;    // P7, P14: closures of ended observations are destroyed in the end, also while a callback is stuck
hidden byte everyTableReclaimed;  // P16: replaced tables are freed in the end, but for those that a stuck callback pins
hidden byte aCallbackIsWaitedFor, aTableIsHeld, anObserverIsHeld; // windows

#define tableIsUsable(used) claim(tableInUse, !has(freedTables, used))
#define closureIsUsable(called) claim(closureInUse, !has(destroyed, called))
#define observerIsUsable(seen) claim(objectInUse, isAllocated(seen))
#define isSilent(called) claim(silentAfterWait, !has(silent, called))
#define headIsUsable() skip
#define lastly() skip

byte cancelled; // observers on which cancel() has returned

// A pass notes the observers whose cancel() had returned when it began.
#define PASS_NOTES \
  byte cancelledAtStart[DEPTH]; \
  bit isLive; \
  bit won;
#define passBegins() cancelledAtStart[depth] = cancelled
#define isNotified() claim(silentAfterCancel, !has(cancelledAtStart[depth], observer[depth]))
#define passEnds() cancelledAtStart[depth] = 0

#include "Memory.pml"
#include "Tables.pml"
#include "Endings.pml"

// Whom a callback ends.
#if defined(CANCELS_ITSELF)
#define VICTIM (self == 0 && observer[depth] == 1 -> 1 : 0)
#elif defined(CANCEL_EACH_OTHER)
#define VICTIM (observer[depth] == self + 1 -> 2 - self : 0)
#elif defined(CANCELS_THE_OUTER)
#define VICTIM (depth == 1 && observer[depth] == 2 -> 1 : 0)
#endif

inline callback() {
#ifdef IS_STUCK
  if
  :: self == 0 && observer[depth] == 1 ->
     d_step { drain(0); busy-- }
end_stuck:
     false
  :: else
  fi;
#endif
#ifdef VICTIM
  if
  :: VICTIM ->
#ifdef CANCELANDWAIT_IN_A_CALLBACK_WAITS
     endAndWait(VICTIM, won)
#else
     // `.deferred`
     cancel(VICTIM, won)
#endif
  :: else
  fi;
#endif
#ifdef NESTS
  if
  :: self == 0 && depth == 0 && observer[depth] == 1 -> depth++; goto pass
  :: else
  fi
#else
  skip
#endif
}

#include "Walk.pml"
#include "Reclamation.pml"

proctype registrar() {
  byte replaced;
  register(3, replaced);
  busy--
}

init {
  atomic {
    head = 1;
    lastTable = 1;
    ENTRY(1, 0) = 1;
    ENTRY(1, 1) = 2;
    count[1] = 2;
    holders[1] = SET(1);
    holders[2] = SET(1);
    marks = SET(1) | SET(2) | SET(3);
    records = SET(0) | SET(1);
    run reclamationThread();
    run deinitThread();
#ifdef GROWS
    busy++;
    run registrar();
#endif
#if WAITS
    busy++;
    tokens[WAITS]++;
    run waiter(WAITS);
#endif
#if WAITS_TOO
    busy++;
    tokens[WAITS_TOO]++;
    run waiter(WAITS_TOO);
#endif
#if CANCELS
    busy++;
    tokens[CANCELS]++;
    run canceller(CANCELS);
#endif
#ifdef VICTIM
    // Their tokens are kept.
    tokens[1]++;
    tokens[2]++;
#endif
#if PASSES_0
    busy++;
    run walker(0, PASSES_0);
#endif
#if PASSES_1
    busy++;
    run walker(1, PASSES_1)
#endif
  }
  busy == 0;
  timeout;
  claim(closuresDestroyed, !((SET(1) | SET(2)) & ~marks & ~destroyed & ~SET(memory[CURRENT(0, 0)])));
  claim(everyTableReclaimed, !(unlinkedTables & ~freedTables & ~SET(memory[PIN(0, 0)])))
}
