// SPDX-License-Identifier: Apache-2.0
//
// A registration beside the bodies of `modify`: MutationLock.acquireForBody, leaveBody and
// withLockAtGate in Property/MutationLock.swift, with Observed.publish and Observed.cut(at:), which
// run at the gate.
//
// `modifier` is stored under `lock` and cleared under `bodyLock`. A registration beside a body
// holds `bodyLock` alone: it looks at `modifier`, then at the version. The load of `modifier` is an
// acquire. With less, the processor may perform the two loads in either order, and that is what the
// model then does; nothing else is reordered here.
//
// BODIES   bodies of `modify`, one after the other: each publishes a version, and notifies the
// observer CUTS     not a registration but a cut: an observer that is there from the beginning
// receives the versions up to it, and no others

#ifndef BODIES
#define BODIES 2
#endif
#ifndef CUTS
#define CUTS 0
#endif

#include "Marks.pml"

// What is claimed.
hidden byte everyVersionIsReceived; // P3, P4: all that came after the registration
hidden byte noneIsReceivedTwice;    // P4: what the registration has found is not delivered again
hidden byte theCutIsExact;       // P2: what was delivered and what the cut says are the same
hidden byte besideABody;         // window

#define NEVER 15
bit lock, bodyLock, modifier;
byte version;
bit isRegistered = CUTS;
byte since;         // the version that the registration has found
byte limit = NEVER; // the version at which the observer was cut
byte received;         // a bit for each version
byte busy;

// Observed.modify, BODIES times.
proctype modifying() {
  byte bodies;
  do
  :: bodies < BODIES ->
     atomic { !lock -> lock = 1 }
     modifier = 1;
     // The body runs.
     inject("modify.body")
#ifdef A_BODY_DOES_NOT_WAIT_FOR_REGISTRATIONS
     modifier = 0;
#else
     atomic { !bodyLock -> bodyLock = 1 }
     d_step { modifier = 0; bodyLock = 0 }
#endif
     version++;
     lock = 0;
     // The observers are notified, under no lock.
     d_step {
       if
       :: isRegistered && since < version && version <= limit ->
          claim(noneIsReceivedTwice, !has(received, version));
          received = received | SET(version)
       :: else
       fi;
       bodies++
     }
  :: else -> break
  od;
  busy--
}

// What is done at the gate. The version was loaded before, perhaps.
inline atTheGate(found) {
#if CUTS
  limit = found
#else
  d_step { since = found; isRegistered = 1 }
  inject("register.since")
#endif
}

// MutationLock.withLockAtGate. A loop in the code, until it has succeeded; here until the bodies
// have ended.
proctype registering() {
  byte found;
  bit isBody;
  do
  :: atomic { !lock -> lock = 1 }
     found = version;
     atTheGate(found);
     lock = 0;
     break
  :: modifier ->
     atomic { !bodyLock -> bodyLock = 1 }
     if
     :: isBody = modifier; found = version
#ifdef A_BODY_IS_LOOKED_AT_WITHOUT_ACQUIRE
     // The processor performs the second load first.
     :: found = version; isBody = modifier
#endif
     fi;
     if
     :: isBody ->
        atTheGate(found);
#ifdef LOOK_FOR_A_REGISTRATION_BESIDE_A_BODY
        window(besideABody, true);
#endif
        bodyLock = 0;
        break
     :: else -> bodyLock = 0
     fi
  od;
  busy--
}

// Versions from the first to the last.
#define ALL(first, last) ((SET((last) + 1) - 1) & ~(SET(first) - 1))

init {
  atomic {
    busy = 2;
    run modifying();
    run registering()
  }
  busy == 0;
#if CUTS
  claim(theCutIsExact, received == ALL(1, limit))
#else
  claim(everyVersionIsReceived, received == ALL(since + 1, BODIES))
#endif
}
