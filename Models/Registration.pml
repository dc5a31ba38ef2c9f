// SPDX-License-Identifier: Apache-2.0
//
// Registrations beside the bodies of `modify`: MutationLock.acquireForBody, leaveBody and
// withPublicationHeld in Property/MutationLock.swift, with Observed.attach and Observed.cut(at:),
// which run at the gate.
//
// `modifier` is stored under `lock`. A body's end stores 0 there, and then looks whether `bodyLock`
// is held. If it is, the body goes on: its end is repeated under `bodyLock`. A registration beside
// a body holds only `bodyLock`: it executes the heavy barrier, looks at `modifier`, then at the
// version.
//
// The store of 0 waits in the store buffer of its thread: until a barrier, or until the thread
// releases a lock. Everything else is stored at once: what the thread stores behind it may be seen
// before it, which is weaker than x86-64. The load of `modifier` is an acquire. With less, the
// processor may perform the two loads in either order, and that is what the model then does; no
// other load is early.
//
// BODIES         bodies of `modify` of each thread, one after the other: each publishes a version,
//                and notifies the observers
// MODIFIERS      threads that run bodies
// REGISTRATIONS  threads that register an observer
// CUTS           not a registration but a cut: an observer that is there from the beginning
//                receives the versions up to the cut, and no others
// FENCED         no membarrier: both sides of the barrier are fences of their own thread

#ifndef BODIES
#define BODIES 2
#endif
#ifndef MODIFIERS
#define MODIFIERS 1
#endif
#ifndef REGISTRATIONS
#define REGISTRATIONS 1
#endif
#ifndef CUTS
#define CUTS 0
#endif

#include "Marks.pml"

// The model claims:
hidden byte everyVersionIsReceived; // P3, P4: all that came after the registration
hidden byte noneIsReceivedTwice;    // P4: the version that the registration has found is not delivered again
hidden byte theCutIsExact;       // P2: what was delivered and what the cut says are the same
hidden byte besideABody, aBodyWaits; // windows

#define NEVER 15
bit lock, bodyLock;
byte modifier; // the thread whose body runs, counted from 1, as other threads see it
byte version;
bit isClearing[MODIFIERS]; // whether the thread's store of 0 is in its store buffer
bit isRegistered[REGISTRATIONS] = CUTS;
byte since[REGISTRATIONS];    // the version that the registration has found
byte limit = NEVER; // the version at which the observer was cut
byte received[REGISTRATIONS]; // a bit for each version
byte busy;
hidden byte observer, thread;

// The store of 0 reaches memory. In a d_step.
inline reachMemory(self) {
  if
  :: isClearing[self] -> modifier = 0; isClearing[self] = 0
  :: else
  fi
}

proctype storeBuffer(byte self) {
end_empty:
  do
  :: d_step { isClearing[self] -> modifier = 0; isClearing[self] = 0 }
  od
}

// AsymmetricBarrier.light.
inline lightBarrier() {
#if defined(FENCED) && !defined(THE_LIGHT_BARRIER_IS_MISSING)
  d_step { reachMemory(self) }
#else
  skip
#endif
}

// AsymmetricBarrier.heavy.
inline heavyBarrier() {
#if defined(FENCED) || defined(NO_BARRIER_BESIDE_A_BODY)
  // All that the registering thread has stored was stored at once.
  skip
#else
  d_step {
    thread = 0;
    do
    :: thread < MODIFIERS -> reachMemory(thread); thread++
    :: else -> break
    od;
    thread = 0
  }
#endif
}

// MutationLock.leaveBody.
inline leaveBody() {
#ifdef A_BODY_LOOKS_FOR_REGISTRATIONS_TOO_EARLY
  isHeld = bodyLock;
#endif
  isClearing[self] = 1;
  inject("modify.ending")
  lightBarrier();
#ifdef A_BODY_DOES_NOT_WAIT_FOR_REGISTRATIONS
  isHeld = 0;
#elif !defined(A_BODY_LOOKS_FOR_REGISTRATIONS_TOO_EARLY)
  isHeld = bodyLock;
#endif
  if
  :: isHeld ->
     d_step { reachMemory(self); modifier = self + 1; isHeld = 0 }
#ifdef LOOK_FOR_A_BODY_THAT_WAITS
     window(aBodyWaits, true);
#endif
     atomic { !bodyLock -> bodyLock = 1 }
     d_step { modifier = 0; bodyLock = 0 }
  :: else
  fi
}

// The observers are notified, under no lock. In a d_step.
inline notify(present) {
  observer = 0;
  do
  :: observer < REGISTRATIONS ->
     if
     :: isRegistered[observer] && since[observer] < present && present <= limit ->
        claim(noneIsReceivedTwice, !has(received[observer], present));
        received[observer] = received[observer] | SET(present)
     :: else
     fi;
     observer++
  :: else -> break
  od;
  observer = 0
}

// Observed.modify, BODIES times.
proctype modifying(byte self) {
  byte bodies;
  byte present;
  bit isHeld;
  do
  :: bodies < BODIES ->
     atomic { !lock -> lock = 1 }
     modifier = self + 1;
     // The body runs.
     inject("modify.body")
     leaveBody();
     version++;
     present = version;
     d_step { reachMemory(self); lock = 0 }
     d_step { notify(present); present = 0; bodies++ }
  :: else -> break
  od;
  busy--
}

// The registration's step at the gate. The version may have been loaded before.
inline atTheGate(found) {
#if CUTS
  limit = found
#else
  d_step { since[self] = found; isRegistered[self] = 1 }
  inject("register.since")
#endif
}

// MutationLock.withPublicationHeld. A loop in the code, until it has succeeded; here until the
// bodies have ended.
proctype registering(byte self) {
  byte found;
  bit isBody;
  do
  :: atomic { !lock -> lock = 1 }
     found = version;
     atTheGate(found);
     lock = 0;
     break
  :: modifier ->
#ifdef A_REGISTRATION_RELIES_ON_THE_BARRIER_BEFORE_IT
     isBody = bodyLock;
     atomic { !bodyLock -> bodyLock = 1 }
     if
     :: isBody -> isBody = 0
     :: else -> heavyBarrier()
     fi;
#else
     atomic { !bodyLock -> bodyLock = 1 }
     heavyBarrier();
#endif
     if
     :: isBody = (modifier != 0); found = version
#ifdef A_BODY_IS_LOOKED_AT_WITHOUT_ACQUIRE
     // The processor performs the second load first.
     :: found = version; isBody = (modifier != 0)
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
     :: else -> bodyLock = 0; found = 0
     fi
  od;
  busy--
}

// Versions from the first to the last.
#define ALL(first, last) ((SET((last) + 1) - 1) & ~(SET(first) - 1))

init {
  byte each;
  atomic {
    busy = MODIFIERS + REGISTRATIONS;
    do
    :: each < MODIFIERS -> run storeBuffer(each); run modifying(each); each++
    :: else -> break
    od;
    each = 0;
    do
    :: each < REGISTRATIONS -> run registering(each); each++
    :: else -> break
    od;
    each = 0
  }
  busy == 0;
#if CUTS
  claim(theCutIsExact, received[0] == ALL(1, limit))
#else
  do
  :: each < REGISTRATIONS ->
     claim(everyVersionIsReceived, received[each] == ALL(since[each] + 1, BODIES * MODIFIERS));
     each++
  :: else -> break
  od
#endif
}
