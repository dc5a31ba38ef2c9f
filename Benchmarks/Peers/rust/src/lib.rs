// SPDX-License-Identifier: Apache-2.0

//! Measures a crate as the benchmark asks for it. A request is a line of the input: operation,
//! threads, live observers, operations of a round. The answer is a line with begin, end, operations
//! and preemptions of each thread, or "-" where the crate has no such operation.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// Runs so many operations.
pub type Body = Box<dyn FnMut(i64) + Send>;

/// What an observer adds to on one thread: a cache line of its own.
#[repr(align(64))]
#[derive(Default)]
pub struct Counter(AtomicI64);

impl Counter {
    // Relaxed, and no read-modify-write: one thread uses it.
    pub fn update(&self, change: impl Fn(i64) -> i64) {
        self.0.store(change(self.0.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    pub fn add(&self, event: i64) {
        self.update(|value| value.wrapping_add(event));
    }
}

thread_local! {
    /// What an observer adds to that several threads call.
    static TALLY: Cell<i64> = const { Cell::new(0) };
}

pub fn tally(event: i64) {
    TALLY.with(|tally| tally.set(tally.get().wrapping_add(event)));
}

/// Uses a result, so that computing it is not optimised away.
pub fn consume(result: i64) {
    static CONSUMED: AtomicI64 = AtomicI64::new(0);
    CONSUMED.store(result, Ordering::Relaxed);
}

/// The two strings that are set in turn; the first one is read.
pub fn strings() -> [Arc<String>; 2] {
    let one = "sixteen and more".repeat(2);
    [Arc::new(one.clone()), Arc::new(one + ".")]
}

/// `prepare` yields a body for each thread, from operation, threads and live observers.
pub fn serve(prepare: impl Fn(&str, usize, usize) -> Option<Vec<Body>>) {
    for line in std::io::stdin().lines().map(Result::unwrap) {
        let request: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| request[index].parse::<usize>().unwrap();
        match prepare(request[0], number(1), number(2)) {
            None => println!("-"),
            Some(bodies) => println!("{}", run_together(number(3) as i64, bodies).join(" ")),
        }
    }
}

/// All threads begin together. The first that has done `times` operations ends it for all.
fn run_together(times: i64, mut bodies: Vec<Body>) -> Vec<String> {
    let (origin, missing, finished) = (Instant::now(), AtomicUsize::new(bodies.len()), AtomicBool::new(false));
    let portion = std::cmp::max(1, times / 100);
    let measure = |body: &mut Body| {
        missing.fetch_sub(1, Ordering::AcqRel);
        let mut spins = 0;
        while missing.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins % 10_000 == 0 {
                std::thread::yield_now();
            }
        }
        let before = preemptions();
        let begin = origin.elapsed();
        let mut done = 0;
        while done < times && !finished.load(Ordering::Relaxed) {
            body(portion);
            done += portion;
        }
        finished.store(true, Ordering::Relaxed);
        let end = origin.elapsed();
        format!("{} {} {} {}", begin.as_nanos(), end.as_nanos(), done, preemptions() - before)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = bodies.iter_mut().map(|body| scope.spawn(|| measure(body))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn preemptions() -> i64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("nonvoluntary")).unwrap();
    line.split_whitespace().last().unwrap().parse().unwrap()
}
