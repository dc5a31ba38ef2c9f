// SPDX-License-Identifier: Apache-2.0
//
// No wake-up is lost, one thread delivers at a time, and in the order of the enqueues:
// SharedMailbox and OrderedObservation in Delivery.
//
// Threads enqueue one event each and wake the mailbox. A thread that finds it idle begins: it
// delivers, or leaves that to another thread.
//
//   WRITERS     threads that enqueue
//   SHARE       events that one thread delivers before it hands the rest on
//   CAPACITY    events that may wait; 0: any number, and they are taken all at once
//   ELSEWHERE   a thread of the library delivers (a queue, an actor); else the thread that begins
//               does

#ifndef WRITERS
#define WRITERS 3
#endif
#ifndef SHARE
#define SHARE 1
#endif
#ifndef CAPACITY
#define CAPACITY 0
#endif

#include "Marks.pml"

// The model claims:
hidden byte oneDeliverer;     // P2: deliveries do not overlap
hidden byte inOrder;          // P2: in the order of the enqueues
hidden byte noEventLost;      // P1, P3: what was enqueued and not dropped by the policy is delivered
hidden byte droppedDestroyed; // P14: what the policy dropped is destroyed in the end
hidden byte mailboxAtRest;    // in the end no thread is busy
hidden byte theRestIsHandedOn; // windows

// Events are numbered from 1 in the order of the enqueues. Those that wait are consecutive.
byte enqueued, firstWaiting = 1, undestroyed;
#define WAITING (enqueued + 1 - firstWaiting)
byte batchFirst, batchLast; // taken all at once, by the thread that delivers
bit isBusy, needsWake, isLocked;
byte deliverers, lastDelivered, dropped, handedOn, busy;

#define lock() atomic { !isLocked -> isLocked = 1 }
#define unlock() isLocked = 0

// SharedMailbox.enqueue.
inline enqueue() {
  inject("mailbox.enqueue")
  lock();
  d_step {
    if
    :: CAPACITY && WAITING == CAPACITY -> firstWaiting++; undestroyed++; dropped++
    :: else
    fi;
    enqueued++;
    if
    :: !isBusy || undestroyed -> needsWake = 1
    :: else
    fi
  }
  unlock()
}

// SharedMailbox.wake.
inline wake() {
  if
  :: needsWake ->
#ifdef THE_MAILBOX_IS_LOOKED_AT_WITHOUT_THE_LOCK
     begins = !isBusy && WAITING;
     lock();
     d_step {
       needsWake = 0;
       if
       :: begins -> isBusy = 1
       :: else
       fi;
       undestroyed = 0
     }
#else
     lock();
     d_step {
       needsWake = 0;
       begins = !isBusy && WAITING;
       if
       :: begins -> isBusy = 1
       :: else
       fi;
       // Destroyed when the lock is released.
       undestroyed = 0
     }
#endif
     unlock();
     inject("mailbox.woken")
     if
     :: begins ->
        begins = 0;
#ifndef A_MAILBOXS_WAKE_UP_IS_LOST
        begin()
#endif
     :: else
     fi
  :: else
  fi
}

inline begin() {
#ifdef ELSEWHERE
  handedOn++
#else
  deliver(SHARE)
#endif
}

// OrderedObservation.run, and its caller: up to `limit` events; then what is left is handed on.
inline deliver(limit) {
  share = 0;
  do
  :: share < limit ->
     next();
     if
     :: event == 0 -> break
     :: else
     fi;
     inject("mailbox.taken")
     d_step {
       deliverers++;
       claim(oneDeliverer, deliverers == 1);
       claim(inOrder, event > lastDelivered);
       claim(noEventLost, event == lastDelivered + 1 || CAPACITY);
       lastDelivered = event
     }
     // The callback.
     d_step { deliverers--; event = 0; share++ }
  :: else ->
#ifndef A_HAND_OVER_IS_LOST
     handedOn++;
#endif
#ifdef LOOK_FOR_A_HAND_OVER
     window(theRestIsHandedOn, 1);
#endif
     break
  od;
  share = 0
}

// OrderedObservation.fillBatch: the next event, or 0, and then others begin.
inline next() {
  if
  :: batchFirst -> takeFromBatch()
  :: else ->
     lock();
     d_step {
       if
       :: WAITING && CAPACITY -> event = firstWaiting; firstWaiting++
       :: WAITING && !CAPACITY ->
          event = firstWaiting;
          batchFirst = (event < enqueued -> event + 1 : 0);
          batchLast = (event < enqueued -> enqueued : 0);
          firstWaiting = enqueued + 1
       :: else ->
#ifndef A_DELIVERY_PARKS_OUTSIDE_THE_LOCK
          isBusy = 0
#endif
       fi
     }
     unlock();
#ifdef A_DELIVERY_PARKS_OUTSIDE_THE_LOCK
     if
     :: !event -> isBusy = 0
     :: else
     fi
#endif
  fi
}

inline takeFromBatch() {
  d_step {
    event = batchFirst;
    batchFirst = (event < batchLast -> event + 1 : 0);
    batchLast = (event < batchLast -> batchLast : 0)
  }
}

proctype writer() {
  byte share, event;
  bit begins;
  enqueue();
  wake();
  busy--
}

// A thread of the library: a deferred action, a block on a queue, a job of an actor.
proctype libraryThread() {
  byte share, event;
end:
  do
  :: d_step { handedOn -> handedOn-- }
     inject("mailbox.job")
     deliver(SHARE)
  od
}

init {
  byte started;
  atomic {
    busy = WRITERS;
    run libraryThread();
    // A queue may have another thread for the next block.
    run libraryThread();
    do
    :: started < WRITERS -> run writer(); started++
    :: else -> break
    od;
    started = 0
  }
  busy == 0;
  timeout;
  claim(noEventLost, WAITING == 0 && batchFirst == 0 && lastDelivered == enqueued);
  claim(droppedDestroyed, undestroyed == 0);
  claim(mailboxAtRest, !isBusy && !deliverers)
}
