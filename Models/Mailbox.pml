// SPDX-License-Identifier: Apache-2.0
//
// No wake-up is lost, one thread delivers at a time, and in the order of posting: OrderedObservation and Mailbox in Delivery.
//
// Threads post one event each and attend to the mailbox; who finds it with nobody at it begins, and delivers or has somebody deliver.
//
//   POSTERS     threads that post
//   SHARE       events that one thread delivers before it hands the rest on
//   CAPACITY    events that may wait; 0: any number, and they are taken all at once
//   ELSEWHERE   who begins has the library's thread deliver (a queue, an actor); else it delivers itself

#ifndef POSTERS
#define POSTERS 3
#endif
#ifndef SHARE
#define SHARE 1
#endif
#ifndef CAPACITY
#define CAPACITY 0
#endif

#include "Marks.pml"

// What is claimed.
hidden byte oneDeliverer;     // P2: deliveries do not overlap
hidden byte inOrder;          // P2: in the order of posting
hidden byte noEventLost;      // P1, P3: what was posted and not dropped by the policy is delivered
hidden byte droppedDestroyed; // P14: what the policy dropped is destroyed in the end
hidden byte mailboxAtRest;    // in the end nobody is busy
hidden byte somebodyWasBusy, theRestIsHandedOn; // windows

// Events are numbered from 1 in the order of posting. Those that wait are consecutive.
byte posted, firstWaiting = 1, spoilt;
#define WAITING (posted + 1 - firstWaiting)
byte batchFirst, batchLast; // taken all at once: of whoever delivers
bit isBusy, needsAttention, isLocked;
byte deliverers, lastDelivered, dropped, errands, busy;

#define lock() atomic { !isLocked -> isLocked = 1 }
#define unlock() isLocked = 0

// OrderedObservation.post.
inline post() {
  inject("mailbox.posting")
  lock();
  d_step {
    if
    :: CAPACITY && WAITING == CAPACITY -> firstWaiting++; spoilt++; dropped++
    :: else
    fi;
    posted++;
    if
    :: !isBusy || spoilt -> needsAttention = 1
    :: else
    fi
  }
  unlock()
}

// OrderedObservation.attend.
inline attend() {
  if
  :: needsAttention ->
#ifdef THE_MAILBOX_IS_LOOKED_AT_WITHOUT_THE_LOCK
     begins = !isBusy && WAITING;
     lock();
     d_step {
       needsAttention = 0;
       if
       :: begins -> isBusy = 1
       :: else
       fi;
       spoilt = 0
     }
#else
     lock();
     d_step {
       needsAttention = 0;
       begins = !isBusy && WAITING;
       if
       :: begins -> isBusy = 1
       :: else
       fi;
       // Destroyed when the lock is given back.
       spoilt = 0
     }
#endif
     unlock();
     inject("mailbox.attended")
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
  errands++
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
     errands++;
#endif
#ifdef LOOK_FOR_AN_ERRAND
     window(theRestIsHandedOn, 1);
#endif
     break
  od;
  share = 0
}

// OrderedObservation.next: the next event, or 0, and then others begin.
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
          batchFirst = (event < posted -> event + 1 : 0);
          batchLast = (event < posted -> posted : 0);
          firstWaiting = posted + 1
       :: else ->
#ifndef ISBUSY_IS_CLEARED_OUTSIDE_THE_LOCK
          isBusy = 0
#endif
       fi
     }
     unlock();
#ifdef ISBUSY_IS_CLEARED_OUTSIDE_THE_LOCK
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

proctype poster() {
  byte share, event;
  bit begins;
  post();
  attend();
  busy--
}

// A thread of the library: an errand, a block on a queue, a job of an actor.
proctype errandRunner() {
  byte share, event;
end:
  do
  :: d_step { errands -> errands-- }
     inject("mailbox.hop")
     deliver(SHARE)
  od
}

init {
  byte started;
  atomic {
    busy = POSTERS;
    run errandRunner();
    // A queue may have another thread for the next block.
    run errandRunner();
    do
    :: started < POSTERS -> run poster(); started++
    :: else -> break
    od;
    started = 0
  }
  busy == 0;
  timeout;
  claim(noEventLost, WAITING == 0 && batchFirst == 0 && lastDelivered == posted);
  claim(droppedDestroyed, spoilt == 0);
  claim(mailboxAtRest, !isBusy && !deliverers)
}
