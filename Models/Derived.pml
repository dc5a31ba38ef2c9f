// SPDX-License-Identifier: Apache-2.0
//
// An observed derived value is evaluated for the last versions of what it reads, and its observers
// are notified of that: DerivationNode.refresh and DerivationNode.commit in
// Derivation/DerivationNode+Committing.swift, DerivedObservation.settle in
// Derivation/DerivedObservation.swift.
//
// The function reads `a`, and `b` where `a` is odd, so that what it depends on changes with `a`.
// One thread changes `a`, then `b`, so that `b` is never ahead of `a`: a result with a later `b` is
// one of versions that never were together.
//
//   CHANGES      how often each of the two is changed
//   READERS      threads that read the derived value, once each
//   FAILURES     runs on what is there that may be disturbed, before the function runs on copies
//   LOSSES       publications of others after which a call takes theirs

#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef READERS
#define READERS 1
#endif

#ifndef FAILURES
#define FAILURES 1
#endif
#ifndef LOSSES
#ifdef A_LOST_CALL_TAKES_THE_FIRST_RESULT
#define LOSSES 1
#else
#define LOSSES 2
#endif
#endif

#include "Marks.pml"

// The model claims:
hidden byte noMixture;        // P23: what is published is the function of versions that were together
hidden byte nothingLost;      // P24: in the end the observers were notified of the last result
hidden byte oneAtATime;       // one thread at a time registers and ends links
hidden byte noneTwice;        // P24: no version is published twice
hidden byte ends;             // P25: a call runs the function so many times at most
hidden byte isCurrent;        // P22: what a read returns is no older than what was there when it began
hidden byte noStaleLink;      // in the end only what was read last is linked
hidden byte aReaderIsFirst, aNoteIsLeft, theShapeChanges, copiesAreOld, anothersIsTaken; // windows

#define FREE 0
#define ENTERED 1
#define NOTED 2

byte a, b;             // versions of the two sources
bit linkedA, linkedB;  // whether the derived value has a link there
byte atA = 99, atB;    // the present record: versions of what was read last
bit readsB;
byte records;          // published, and the number of the present one
byte pending;          // the number of the last record that waits for its delivery, or 0
byte delivered;        // the number of the last one that was delivered
byte state;            // the drain loop's state
byte inside;
byte busy;

#define isStale (atA != a || (readsB && atB != b))

// DerivationNode.refresh, if the record is stale: evaluates without a lock, any threads at once;
// the first to commit over the record that it began with publishes. After some disturbed runs the
// function reads copies, which were taken together.
inline refresh() {
  do
  :: atomic { stale = isStale; base = records; failures = 0 }
     if
     :: !stale || losses == LOSSES ->
#ifdef LOOK_FOR_OTHERS
        window(anothersIsTaken, stale);
#endif
        break
     :: else
     fi;
     do
     :: claim(ends, failures <= FAILURES && losses < LOSSES);
        if
        :: failures < FAILURES ->
           myA = a;
           inject("derived.read");
           if
           :: myA % 2 -> myB = b; mineReadsB = 1
           :: else -> mineReadsB = 0
           fi
        :: else ->
           inject("derived.copies");
#ifdef COPIES_ARE_TAKEN_ONE_BY_ONE
           myA = a;
           if
           :: myA % 2 -> myB = b; mineReadsB = 1
           :: else -> mineReadsB = 0
           fi
#else
           // While the publication of both is held off.
           atomic { myA = a; mineReadsB = myA % 2; myB = (mineReadsB -> b : myB) }
#endif
        fi;
        inject("derived.evaluated");
        if
#ifndef AN_EVALUATION_OF_MIXED_VERSIONS_IS_PUBLISHED
#ifdef COPIES_ARE_NEVER_TAKEN
        // The versions of one source were present together, even if a later one is present now.
        :: mineReadsB && (myA != a || myB != b) -> failures++ // again
#else
        :: failures < FAILURES && mineReadsB && (myA != a || myB != b) -> failures++ // again
#endif
#endif
        :: else -> break
        fi
     od;
     inject("derived.collected");
     // Under the lock of the derived value.
     atomic {
       if
#ifdef A_STALE_RESULT_IS_COMMITTED
       :: true ->
#else
       :: records == base ->
#endif
          claim(noMixture, !(mineReadsB && myB > myA));
          claim(noneTwice, !(myA == atA && mineReadsB == readsB && (!readsB || myB == atB)));
#ifdef LOOK_FOR_A_SHAPE
          window(theShapeChanges, mineReadsB != readsB && records > 1);
#endif
#ifdef LOOK_FOR_OLD_COPIES
          window(copiesAreOld, myA != a);
#endif
          atA = myA; atB = myB; readsB = mineReadsB;
          records++;
#ifdef WHAT_A_READER_COMMITS_IS_NOT_DELIVERED
          if
          :: isReader
          :: else -> pending = records
          fi;
#else
          pending = records;
#endif
          isPublished = 1
       :: else -> losses++
       fi
     }
     if
     :: isPublished -> break
     :: else
     fi
  od;
  atomic { stale = 0; base = 0; myA = 0; myB = 0; mineReadsB = 0; failures = 0; losses = 0; isPublished = 0 }
}

// DerivedObservation.settle: in the loop, evaluates and links; after it, delivers what waits,
// whatever thread has committed that.
inline settle() {
  do
  :: true ->
     inject("derived.enter");
     atomic {
       if
       :: state == FREE -> state = ENTERED; inside++; claim(oneAtATime, inside == 1)
       :: else ->
#ifndef A_CHANGE_DURING_AN_EVALUATION_LEAVES_NO_NOTE
          state = NOTED;
#endif
#ifdef LOOK_FOR_A_NOTE
          window(aNoteIsLeft, 1);
#endif
          break
       fi
     }
     do
     :: true ->
        refresh();
        atomic { newLink = 0; seenB = readsB; seen = records }
        inject("derived.link");
        // Under the source's lock: a change is before, or finds the link.
        if
        :: atomic { !linkedA -> linkedA = 1; newLink = 1 }
        :: else
        fi;
        if
        :: atomic { seenB && !linkedB -> linkedB = 1; newLink = 1 }
        :: atomic { !seenB && linkedB ->
#ifndef A_LINK_TO_AN_UNUSED_SOURCE_STAYS
             linkedB = 0
#endif
           }
        :: else
        fi;
        if
#ifndef WHAT_IS_NEWLY_LINKED_IS_NOT_LOOKED_AT
        :: newLink && (isStale || seen != records)
#endif
        :: else -> break
        fi
     od;
     atomic { hasMore = (state == NOTED); state = FREE; inside--; newLink = 0; seenB = 0; seen = 0 }
     if
     :: hasMore -> hasMore = 0
     :: else -> break
     fi
  od;
  inject("derived.deliver");
  atomic {
    if
    :: pending -> delivered = pending; pending = 0
    :: else
    fi
  }
}

#define LOCALS \
  byte base, myA, myB, seen, failures, losses; \
  bit stale, mineReadsB, newLink, hasMore, seenB, isPublished;

// Changes `a`, then `b`: each is published, then the links are called, if there are any.
proctype changer() {
  LOCALS
  byte left = CHANGES;
  bit isReader;
  do
  :: left > 0 ->
     a++;
     if
     :: linkedA -> settle()
     :: else
     fi;
     b++;
     if
     :: linkedB -> settle()
     :: else
     fi;
     left--
  :: else -> break
  od;
  busy--
}

// The first observer: links what is read.
proctype observer() {
  LOCALS
  bit isReader;
  settle();
  busy--
}

// A read, which delivers nothing: a change that it has seen first will.
proctype reader() {
  LOCALS
  bit isReader = 1;
  byte since;
  // A step of its own: a declaration takes its value when the process is made.
  since = a;
  refresh();
#ifdef LOOK_FOR_A_READER
  window(aReaderIsFirst, pending && a);
#endif
  claim(isCurrent, atA >= since);
  busy--
}

init {
  byte started;
  atomic {
    busy = READERS + 2;
    run changer();
    run observer();
    do
    :: started < READERS -> run reader(); started++
    :: else -> break
    od;
    started = 0
  }
  busy == 0;
  claim(nothingLost, !isStale && delivered == records && !pending);
  claim(noStaleLink, linkedA && linkedB == readsB)
}
