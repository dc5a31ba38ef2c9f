// SPDX-License-Identifier: Apache-2.0
//
// Part of other models: the end of one observation: RegistryCore.end, ThreadRecord.retire,
// ObservationToken.cancelAndWait, Observer.finish, and the deinit threads.

byte references;  // observers to which a retired item owns a reference
byte tokens[4];   // each observer's tokens in use
byte destroyed;   // observers whose closure is destroyed
byte finished;    // observers that are marked so, after that
byte endsDelivered[4]; // how often each observer's end was delivered
byte doomed;      // observers that the deinit threads have
byte silent;      // observers for which `cancelAndWait` has returned `.finished`

// The object is there while something owns a reference to it.
#define isAllocated(observer) (tokens[observer] || has(references, observer) || (holders[observer] & ~freedTables))

// RegistryCore.end: `won` says whether this call has ended the observation.
inline unlink(ended, won) {
  lock();
  inject("end.locked")
  d_step {
    won = has(marks, ended);
    if
    :: won ->
#ifndef MARK_IS_CLEARED_AFTER_THE_BARRIER
       marks = marks & ~SET(ended);
       tombstoneLocked(ended)
#endif
    :: else
    fi;
    slot = 0
  }
  inject("end.unlinked")
  unlock()
}

// ThreadRecord.retire. Under no lock.
inline retireObserver(ended) {
  inject("end.retire")
  d_step {
#ifndef SHELL_IS_FREED_BEFORE_ITS_CLOSURE
    references = references | SET(ended);
#endif
    retiredObservers = retiredObservers | SET(ended)
  }
}

// Observer.end: cancel().
inline cancel(ended, won) {
#ifdef OBSERVER_IS_RETIRED_BEFORE_IT_IS_UNLINKED
  retireObserver(ended);
  unlink(ended, won)
#else
  unlink(ended, won);
  if
  :: won -> won = 0; retireObserver(ended)
  :: else
  fi
#endif
}

// Observer.finish: destroys the closure, then delivers the end.
inline finish(ended) {
  d_step {
    claim(closureDestroyedOnce, !has(destroyed, ended));
    claim(objectInUse, isAllocated(ended));
    destroyed = destroyed | SET(ended)
  }
  d_step {
    claim(objectInUse, isAllocated(ended));
    finished = finished | SET(ended);
    endsDelivered[ended]++;
#ifdef AN_END_IS_DELIVERED_TWICE
    endsDelivered[ended]++;
#endif
    claim(endDeliveredOnce, endsDelivered[ended] == 1);
    // The thread that retired the item owned it until here.
    references = references & ~SET(ended)
  }
}

// ObservationToken.cancelAndWait, outside callbacks or where the rule is broken.
inline endAndWait(ended, won) {
  unlink(ended, won);
  if
  :: won ->
     won = 0;
     // Observer.finishAfterCallbacks
     inject("wait.barrier")
     heavyBarrier();
#ifdef MARK_IS_CLEARED_AFTER_THE_BARRIER
     d_step { marks = marks & ~SET(ended); tombstoneLocked(ended) }
#endif
     inject("wait.scan")
#ifdef LOOK_FOR_A_CALLBACK_THAT_IS_WAITED_FOR
     window(aCallbackIsWaitedFor, IS_CURRENT(ended));
#endif
#ifndef CANCELANDWAIT_DOES_NOT_WAIT
#ifdef OUTER_FRAMES_ARE_SKIPPED
     if
     :: memory[PIN(0, 1)] == 0 -> waitWhile(0, CURRENT(0, 0), ended)
     :: else
     fi;
#else
     waitWhile(0, CURRENT(0, 0), ended);
#endif
     waitWhile(0, CURRENT(0, 1), ended);
     waitWhile(1, CURRENT(1, 0), ended);
#endif
     inject("wait.destroy")
     finish(ended)
  :: else ->
     // Another thread has ended it: waits until that thread has finished it.
     has(finished, ended)
  fi
}

// A thread that calls cancelAndWait() outside callbacks.
proctype waiter(byte observer) {
  bit won;
  endAndWait(observer, won);
  d_step {
    claim(finishedIsDestroyed, has(destroyed, observer));
    silent = silent | SET(observer);
    tokens[observer]--;
    busy--
  }
}

// A thread that calls cancel().
proctype canceller(byte observer) {
  bit won;
  cancel(observer, won);
  d_step {
    cancelled = cancelled | SET(observer);
    tokens[observer]--;
    busy--
  }
}

// The DeinitThreads.
proctype deinitThread() {
  byte observer;
end:
  do
  :: d_step {
       doomed ->
       if
       :: has(doomed, 1) -> observer = 1
       :: else -> observer = 2
       fi;
       doomed = doomed & ~SET(observer)
     }
     inject("destroy.item")
     finish(observer);
     observer = 0
  od
}
