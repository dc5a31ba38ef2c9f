// SPDX-License-Identifier: Apache-2.0
//
// Part of other models: tables and what is done to them under the lock, RegistryCore and
// ObserverTable in Registry. One list's: `head` is the source's for the first list, and in the core
// for the others (see Walk.pml).

// Observers and tables are numbered from 1; numbers are not reused. 0 is none.
#define TABLES 3
#define SLOTS 4
#define TOMBSTONE 7
// The first table has room for two, and each for one more than that before it.
#define CAPACITY_OF(table) (table + 1)

byte head;                           // the current table
byte count[TABLES + 1];
byte entry[(TABLES + 1) * SLOTS];
#define ENTRY(table, slot) entry[(table) * SLOTS + (slot)]
byte lastTable;                      // the newest
byte freedTables, unlinkedTables;
byte replacedTables;                 // tables whose entries send to the observers' own marks
byte marks;                          // observers whose mark is set
byte holders[TABLES + 2];            // the tables that own a reference to each observer
bit isLocked;
hidden byte slot, copied;

#define lock() atomic { !isLocked -> isLocked = 1 }
#define unlock() isLocked = 0

// A new table with the live observers of the current one, RegistryCore.replaceTable. Under the
// lock; the caller retires `replaced`.
inline grow(replaced) {
  d_step {
    replaced = head;
    lastTable++;
    copied = 0;
    slot = 0;
    do
    :: slot < count[head] ->
       if
       :: ENTRY(head, slot) != TOMBSTONE ->
          ENTRY(lastTable, copied) = ENTRY(head, slot);
          holders[ENTRY(head, slot)] = holders[ENTRY(head, slot)] | SET(lastTable);
          copied++
       :: else
       fi;
       slot++
    :: else -> break
    od;
    count[lastTable] = copied;
    slot = 0;
    copied = 0
  }
#ifdef TABLE_IS_RETIRED_BEFORE_IT_IS_UNLINKED
  retiredTables = retiredTables | SET(replaced);
#endif
  inject("grow.copied")
  publish(lastTable, replaced);
  inject("grow.published")
  markReplacedLocked(replaced)
}

// ObserverTable.markReplaced. Under the lock. One step: a walker looks at one entry, and which of
// the others are marked is nothing to it.
inline markReplacedLocked(replaced) {
#ifndef A_REPLACED_TABLE_KEEPS_ITS_WORD
  replacedTables = replacedTables | (SET(replaced) & ~1)
#else
  skip
#endif
}

inline publish(table, replaced) {
  d_step {
    headIsUsable();
    head = table;
    unlinkedTables = unlinkedTables | (SET(replaced) & ~1)
  }
}

// ObserverTable.append. Under the lock, to a table that is not full.
inline append(observer) {
#ifdef APPEND_PUBLISHES_THE_COUNT_FIRST
  count[head]++;
  inject("append.entry")
  d_step { ENTRY(head, count[head] - 1) = observer; holders[observer] = holders[observer] | SET(head) }
#else
  inject("append.entry")
  d_step { ENTRY(head, count[head]) = observer; holders[observer] = holders[observer] | SET(head) }
  inject("append.publish")
  count[head]++;
#endif
}

// ObserverTable.tombstone. Under the lock, in a d_step.
inline tombstoneLocked(observer) {
  slot = 0;
  do
  :: ENTRY(head, slot) != observer -> slot++
  :: else -> break
  od;
  ENTRY(head, slot) = TOMBSTONE;
  slot = 0
}

byte retiredTables, retiredObservers; // on a stack of retired items, and not taken

// ThreadRecord.retire. Under no lock.
inline retireTable(table) {
  inject("end.retire")
  d_step { retiredTables = retiredTables | (SET(table) & ~1); table = 0 }
}

// RegistryCore.append: `publish`, then `settle`.
inline register(observer, replaced) {
  lock();
  if
  :: head == 0 || count[head] == CAPACITY_OF(head) -> grow(replaced)
  :: else
  fi;
  append(observer);
  unlock();
  if
  :: replaced -> retireTable(replaced)
  :: else
  fi
}
