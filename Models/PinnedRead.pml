// SPDX-License-Identifier: Apache-2.0
//
// A table is freed only when no thread walks it, and no registration is lost: the pinned read,
// growth, and the reclaiming of tables.
//
// Two threads notify while a third registers observers: the first fits into the table, which the
// second finds full and replaces.
//
//   PASSES_0, PASSES_1   notifications of each walker
//   NESTS                the first walker's callback of observer 1 notifies again
//   GROWTHS              tables that are replaced
//   ATTACHES             the walkers' records are pushed at their first use

#ifndef PASSES_0
#define PASSES_0 1
#endif
#ifndef PASSES_1
#define PASSES_1 1
#endif
#ifndef GROWTHS
#define GROWTHS 1
#endif

#include "Marks.pml"

// The model claims:
hidden byte tableInUse;         // a walk uses a table that is freed
hidden byte entryIsComplete;    // a walk finds an entry that is not written yet
hidden byte registeredIsNotified;  // P1: registered before the notification began, and called
hidden byte notifiedOnce;          // P1: called once
hidden byte everyTableReclaimed; // P16: what was retired is freed in the end
hidden byte registrationIsKept; // the last table has every observer
hidden byte aTableIsHeld, anObserverIsHeld; // windows

#define tableIsUsable(used) claim(tableInUse, !has(freedTables, used))
#define closureIsUsable(observer) skip

#define headIsUsable() skip

// A pass notes which observers were registered when it began, and which it has called.
#define PASS_NOTES \
  byte registeredAtStart[DEPTH], notified[DEPTH];
#define passBegins() registeredAtStart[depth] = registered
#define isNotified() \
  claim(notifiedOnce, !has(notified[depth], observer[depth])); \
  notified[depth] = notified[depth] | SET(observer[depth])
#define passEnds() \
  claim(registeredIsNotified, !(registeredAtStart[depth] & ~notified[depth])); \
  registeredAtStart[depth] = 0; \
  notified[depth] = 0

#define lastly() skip

inline callback() {
#ifdef NESTS
  if
  :: self == 0 && depth == 0 && observer[depth] == 1 -> depth++; goto pass
  :: else
  fi
#else
  skip
#endif
}

byte registered; // observers whose registration has returned

#include "Memory.pml"
#include "Tables.pml"
#include "Walk.pml"
byte doomed; // no observation ends here

#include "Reclamation.pml"

proctype registrar() {
  byte observer = 2, replaced;
  do
  :: observer <= 2 + GROWTHS ->
     register(observer, replaced);
     d_step { registered = registered | SET(observer); observer++ }
  :: else -> break
  od;
  busy--
}

init {
  atomic {
    head = 1;
    lastTable = 1;
    ENTRY(1, 0) = 1;
    count[1] = 1;
    registered = SET(1);
    busy = 1;
    run reclamationThread();
    run registrar();
#if PASSES_0
    busy++;
    run walker(0, PASSES_0);
#endif
#if PASSES_1
    busy++;
    run walker(1, PASSES_1);
#endif
#ifndef ATTACHES
    records = SET(0) | SET(1)
#endif
  }
  busy == 0;
  timeout;
  claim(everyTableReclaimed, freedTables == unlinkedTables);
  slot = 0;
  do
  :: slot < 2 + GROWTHS -> claim(registrationIsKept, ENTRY(head, slot) == slot + 1); slot++
  :: else -> break
  od
}
