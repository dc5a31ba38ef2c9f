// SPDX-License-Identifier: Apache-2.0
//
// Part of other models: a pass of the reclamation thread, ReclamationThread.pass in
// Reclamation/ReclamationThread+Pass.swift.

byte heldTables, heldObservers; // put aside by earlier passes

// Passes that would find every item held as before are left out.
#define IS_FREE(set, element, isHeld) (has(set, element) && !isHeld(element))
#define HELD_NO_MORE \
  (IS_FREE(heldTables, 1, IS_PINNED) || IS_FREE(heldTables, 2, IS_PINNED) || IS_FREE(heldObservers, 1, IS_CURRENT) \
    || IS_FREE(heldObservers, 2, IS_CURRENT))

inline takeRetired() {
  tables = retiredTables;
  observers = retiredObservers;
  retiredTables = 0;
  retiredObservers = 0
}

// The loads of one frame. Those that no item depends on are left out.
inline scanFrame(thread, depth) {
  if
  :: has(known, thread) && (tables || heldTables) ->
     look(thread, PIN(thread, depth), seen);
     pinned = pinned | SET(seen);
     seen = 0
  :: else
  fi;
  if
  :: has(known, thread) && (observers || heldObservers) ->
     look(thread, CURRENT(thread, depth), seen);
     current = current | SET(seen);
     seen = 0
  :: else
  fi
}

proctype reclamationThread() {
  byte tables, observers; // the batch, then what is to be reclaimed
  byte known;             // the list of records, as the scan found it
  byte pinned, current;   // the pins and current observers that the scan saw
  byte seen;

#ifdef RECORDS_ARE_READ_BEFORE_THE_BATCH
  known = records;
#endif
end:
  do
  :: atomic {
       retiredTables || retiredObservers || HELD_NO_MORE;
#ifndef BATCH_IS_TAKEN_AFTER_THE_BARRIER
       d_step { takeRetired() }
#endif
     }
     inject("reclaim.taken")
     if
     :: tables -> gracePeriod()
     :: else
     fi;
     if
     :: tables || observers -> heavyBarrier()
     :: else
     fi;
#ifdef BATCH_IS_TAKEN_AFTER_THE_BARRIER
     gracePeriod();
     d_step { takeRetired() }
#endif
     inject("reclaim.barrier")
#ifndef RECORDS_ARE_READ_BEFORE_THE_BATCH
     known = records;
#endif
#ifdef OUTER_FRAMES_ARE_SKIPPED
     // Where an inner frame is in use.
     if
     :: memory[PIN(0, 1)] == 0 -> scanFrame(0, 0)
     :: else
     fi;
#else
     scanFrame(0, 0);
#endif
     scanFrame(0, 1);
     scanFrame(1, 0);
     inject("reclaim.scan")
     d_step {
#ifdef RECLAIM_AT_ONCE
       pinned = 0;
       current = 0;
#endif
#ifdef PINS_ARE_NOT_SCANNED
       pinned = 0;
#endif
#ifdef CURRENT_OBSERVERS_ARE_NOT_SCANNED
       current = 0;
#endif
#ifdef LOOK_FOR_A_HELD_TABLE
       window(aTableIsHeld, (tables | heldTables) & pinned);
#endif
#ifdef LOOK_FOR_A_HELD_OBSERVER
       window(anObserverIsHeld, (observers | heldObservers) & current);
#endif
       tables = tables | heldTables;
       observers = observers | heldObservers;
       heldTables = tables & pinned;
       heldObservers = observers & current;
       tables = tables & ~pinned;
       observers = observers & ~current;
       pinned = 0;
       current = 0;
       known = 0
     }
     do
     :: tables ->
        inject("reclaim.free")
        d_step { freedTables = freedTables | (tables & -tables); tables = tables & (tables - 1) }
     :: observers ->
        inject("reclaim.free")
        d_step { doomed = doomed | (observers & -observers); observers = observers & (observers - 1) }
     :: else -> break
     od
  // Time passes: while something is held, a store reaches memory.
  :: d_step { (heldTables || heldObservers) && buffered[0] -> takeEffect(0, 0) }
  :: d_step { (heldTables || heldObservers) && buffered[1] -> takeEffect(1, 0) }
  od
}
