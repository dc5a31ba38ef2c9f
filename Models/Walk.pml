// SPDX-License-Identifier: Apache-2.0
//
// Part of other models: the walk, ObserverList.walk in Registry/ObserverList+Walk.swift.
//
// A property has up to three lists, one for each kind of observers, and walks them one after the
// other. This is one list. No more is needed: a walk pins the table of one list, in a frame and a
// read section of its own, and ends before the next begins. So two lists' walks are two passes of
// one thread (PASSES_0=2) over tables that have nothing in common but the lock, the list of records
// and the reclamation thread, which distinguishes tables by their addresses. An observer is in one
// list all its life. An end looks only at that list's table. The source's end looks at one after
// the other, under one lock.
//
// The model that includes this says what callbacks do (`callback`, where `goto pass` with one more
// `depth` is a nested pass), what it notes about a pass (`passBegins`, `isNotified`, `passEnds`),
// and when tables and closures may be used.

byte records; // walkers whose record is on the list of all

// TableEntry.isActive: the entry says it, or sends to the observer's own mark.
inline testMark() {
  d_step {
    observerIsUsable(observer[depth]);
    isLive = (ENTRY(table[depth], next[depth] - 1) != TOMBSTONE);
    asksObserver = isLive && has(replacedTables, table[depth])
  }
  if
  :: asksObserver ->
     d_step {
       asksObserver = 0;
       observerIsUsable(observer[depth]);
       isLive = has(marks, observer[depth])
     }
  :: else
  fi
}

// From the entry to the call, where observations end: without that `current` and the mark decide
// nothing, and are left out.
inline becomeCurrent() {
#ifdef MARK_IS_TESTED_BEFORE_CURRENT_IS_STORED
  testMark();
#endif
  inject("walk.marked")
#ifdef CURRENT_IS_STORED_RELAXED
  storeRelaxed(CURRENT(self, depth), observer[depth]);
#else
  storeReleasing(CURRENT(self, depth), observer[depth]);
#endif
  lightBarrier();
  inject("walk.current")
#if defined(MARK_IS_NOT_TESTED)
  isLive = 1;
#elif !defined(MARK_IS_TESTED_BEFORE_CURRENT_IS_STORED)
  testMark();
#endif
  d_step {
    if
    :: isLive -> isNotified()
    :: else
    fi
  }
}

// One thread that notifies, `passes` times.
proctype walker(byte self; byte passes) {
  byte depth; // the number of the innermost pass
  byte table[DEPTH], last[DEPTH], next[DEPTH], observer[DEPTH];
  PASS_NOTES
#ifdef OBSERVATIONS_END
  bit asksObserver;
#endif

#ifdef ATTACHES
  records = records | SET(self);
#endif
  do
  :: passes > 0 ->
     passes--;
pass:
     skip;
     d_step { enterSection(); passBegins() }
     atomic {
       table[depth] = head;
       if
       :: table[depth] == 0 -> d_step { leaveSection() }; goto passed
       :: else
       fi
     }
#ifdef PIN_IS_STORED_AFTER_THE_READ_SECTION
     d_step { leaveSection() }
#endif
     inject("walk.head")
     storeRelaxed(PIN(self, depth), table[depth]);
#ifndef PIN_IS_STORED_AFTER_THE_READ_SECTION
     d_step { leaveSection() }
#endif
     inject("walk.pinned")
     d_step { tableIsUsable(table[depth]); last[depth] = count[table[depth]] }
     inject("walk.count")
#ifdef PIN_IS_CLEARED_BEFORE_THE_WALK_ENDS
     storeReleasing(PIN(self, depth), 0);
#endif

     do
     :: next[depth] < last[depth] ->
        d_step {
          tableIsUsable(table[depth]);
          observer[depth] = ENTRY(table[depth], next[depth]);
          claim(entryIsComplete, observer[depth]);
          next[depth]++
        }
        if
        :: observer[depth] != TOMBSTONE ->
           inject("walk.entry")
#ifdef OBSERVATIONS_END
           becomeCurrent();
           if
           :: isLive ->
              isLive = 0;
#ifdef CURRENT_IS_CLEARED_BEFORE_THE_CALLBACK
              storeReleasing(CURRENT(self, depth), 0);
#endif
              callback();
called:       skip;
              // Closures are not revived: one look at the end of the callback is one at any time in
              // it.
              d_step { accessClosure(observer[depth]); isSilent(observer[depth]) }
              inject("walk.called")
           :: else
           fi
#else
           d_step { isNotified() }
           callback();
called:    skip
#endif
        :: else
        fi
     :: else ->
        d_step { accessTable(table[depth]) }
        break
     od;
     observer[depth] = 0;
     // Frame.clear
#if defined(OBSERVATIONS_END) && !defined(CURRENT_IS_NOT_CLEARED)
     storeReleasing(CURRENT(self, depth), 0);
#endif
#ifdef PIN_IS_CLEARED_RELAXED
     storeRelaxed(PIN(self, depth), 0);
#else
     storeReleasing(PIN(self, depth), 0);
#endif
#ifdef INNER_PASS_CLEARS_THE_OUTER_PIN
     storeReleasing(PIN(self, 0), 0);
#endif
     inject("walk.cleared")
passed:
     skip;
     d_step { passEnds(); table[depth] = 0; last[depth] = 0; next[depth] = 0 }
     if
     :: depth > 0 -> depth--; goto called
     :: else
     fi
  :: else ->
     lastly();
     d_step { drain(self); busy-- }
     break
  od
}
