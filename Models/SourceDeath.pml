// SPDX-License-Identifier: Apache-2.0
//
// When the source goes, every observation ends once and is notified of it once, and nothing touches
// the source's memory afterwards: ObserverList.endSource.
//
// No thread notifies: a thread that calls the source holds it. The first walker is the thread that
// runs its `deinit`, and walks nothing.
//
//   WAITS, CANCELS       the observers on which other threads call cancelAndWait() and cancel(), or
//                        0
//   TIDIES               the reclamation thread replaces the table in between: half of it is dead

#ifndef WAITS
#define WAITS 1
#endif
#ifndef CANCELS
#define CANCELS 0
#endif

#define OBSERVATIONS_END

#include "Marks.pml"

// The model claims:
hidden byte sourceInUse;          // P11: the source's memory is written to after it is freed
hidden byte endDeliveredOnce;          // P12: onEnd
hidden byte everyObservationEnded;       // P12
hidden byte closureInUse;         // P14
hidden byte closureDestroyedOnce; // P14
hidden byte closuresDestroyed;    // P14
hidden byte silentAfterWait;      // P9
hidden byte finishedIsDestroyed;  // P9
hidden byte objectInUse;
hidden byte tableInUse;
hidden byte entryIsComplete;
hidden byte everyTableReclaimed;  // P16
hidden byte aCallbackIsWaitedFor, aTableIsHeld, anObserverIsHeld; // windows

#define tableIsUsable(used) claim(tableInUse, !has(freedTables, used))
#define closureIsUsable(called) claim(closureInUse, !has(destroyed, called))
#define observerIsUsable(seen) claim(objectInUse, isAllocated(seen))
#define isSilent(called) claim(silentAfterWait, !has(silent, called))
// RegistryCore.head: where the source keeps the table's address, forgotten with the source.
#define headIsUsable() claim(sourceInUse, !isFreed)

bit isFreed;    // the source's memory
byte cancelled; // observers on which cancel() has returned

#define PASS_NOTES \
  byte replaced; \
  byte remaining; \
  bit isLive; \
  bit won;
#define passBegins() skip
#define isNotified() skip
#define passEnds() skip

#include "Memory.pml"
#include "Tables.pml"
#include "Endings.pml"

#define callback() skip

// ObserverList.endSource, RegistryCore.endSource: the last thing in the source's life.
inline endAll() {
  lock();
  d_step { replaced = head; remaining = marks }
#ifndef TABLE_OUTLIVES_THE_SOURCE
  inject("grow.copied")
  publish(0, replaced);
  inject("grow.published")
  markReplacedLocked(replaced);
#endif
#ifndef TOKEN_STAYS_ACTIVE_AFTER_SOURCE_DEATH
  marks = 0;
#endif
  unlock();
#ifndef TABLE_OUTLIVES_THE_SOURCE
  if
  :: replaced -> retireTable(replaced)
  :: else
  fi;
#endif
#if !defined(TOKEN_STAYS_ACTIVE_AFTER_SOURCE_DEATH) && !defined(SOURCE_DEATH_LEAKS_THE_CLOSURES)
  if
  :: has(remaining, 1) -> retireObserver(1)
  :: else
  fi;
  if
  :: has(remaining, 2) -> retireObserver(2)
  :: else
  fi;
#endif
  isFreed = 1
}
#define lastly() endAll()

#include "Walk.pml"
#include "Reclamation.pml"

// RegistryCore.reclaim: replaces a table by a smaller one, or by none, if half of it is dead. On
// the reclamation thread, which does it before anything else; here at any time, once.
proctype tidier() {
  byte replaced;
  lock();
  if
  :: head && ENTRY(head, 0) == TOMBSTONE && ENTRY(head, 1) == TOMBSTONE ->
     replaced = head;
     inject("grow.copied")
     publish(0, replaced);
     inject("grow.published")
     markReplacedLocked(replaced)
  :: head && (ENTRY(head, 0) == TOMBSTONE) + (ENTRY(head, 1) == TOMBSTONE) == 1 -> grow(replaced)
  :: else
  fi;
  unlock();
  if
  :: replaced -> retireTable(replaced)
  :: else
  fi;
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
    marks = SET(1) | SET(2);
    records = SET(0);
    busy = 1;
    run reclamationThread();
    run deinitThread();
    run walker(0, 0);
#if WAITS
    busy++;
    tokens[WAITS]++;
    run waiter(WAITS);
#endif
#if CANCELS
    busy++;
    tokens[CANCELS]++;
    run canceller(CANCELS);
#endif
#ifdef TIDIES
    busy++;
    run tidier()
#endif
  }
  busy == 0;
  timeout;
  claim(everyObservationEnded, !marks);
  claim(closuresDestroyed, destroyed == (SET(1) | SET(2)));
  claim(everyTableReclaimed, freedTables == unlinkedTables)
}
