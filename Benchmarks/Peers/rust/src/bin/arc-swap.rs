// SPDX-License-Identifier: Apache-2.0

//! arc-swap: a value, or a list of observers, that is replaced as a whole.

use arc_swap::ArcSwap;
use peers::{consume, serve, strings, tally, Body, Counter};
use std::sync::Arc;

type Observer = Arc<dyn Fn(i64) + Send + Sync>;

fn counting(kind: usize) -> Observer {
    let counter = Counter::default();
    match kind {
        0 => Arc::new(move |event| counter.add(event)),
        1 => Arc::new(move |event| counter.update(|value| value.wrapping_sub(event))),
        _ => Arc::new(move |event| counter.update(|value| value ^ event)),
    }
}

fn prepare(operation: &str, threads: usize, live: usize) -> Option<Vec<Body>> {
    let kinds = if operation == "notify-3-kinds" { 3 } else { 1 };
    let observer = |index| if threads == 1 { counting(index % kinds) } else { Arc::new(tally) as Observer };
    let list: Vec<Observer> = (0..live).map(observer).collect();
    let observers = Arc::new(ArcSwap::from_pointee(list));
    let integer = Arc::new(ArcSwap::from_pointee(1i64));
    let [one, other] = strings();
    let string = Arc::new(ArcSwap::new(one.clone()));
    let body = || -> Option<Body> {
        let (observers, integer, string) = (observers.clone(), integer.clone(), string.clone());
        let (one, other) = (one.clone(), other.clone());
        Some(match operation {
            "notify" | "notify-3-kinds" => Box::new(move |times| {
                for event in 0..times {
                    observers.load().iter().for_each(|observer| observer(event));
                }
            }),
            "connect" => {
                let counter = Arc::new(Counter::default());
                Box::new(move |times| {
                    for _ in 0..times {
                        let counter = counter.clone();
                        let observer: Observer = Arc::new(move |event| counter.add(event));
                        observers.rcu(|old| -> Vec<_> { old.iter().chain([&observer]).cloned().collect() });
                        observers.rcu(|old| -> Vec<_> {
                            old.iter().filter(|other| !Arc::ptr_eq(other, &observer)).cloned().collect()
                        });
                    }
                })
            }
            "set-int" => Box::new(move |times| (0..times).for_each(|value| integer.store(Arc::new(value)))),
            "read-int" => Box::new(move |times| consume((0..times).map(|_| **integer.load()).sum())),
            "set-string" => Box::new(move |times| {
                for step in 0..times {
                    string.store(if step & 1 == 0 { &one } else { &other }.clone());
                }
            }),
            "read-string" => Box::new(move |times| consume((0..times).map(|_| string.load_full().len() as i64).sum())),
            "lend-string" => Box::new(move |times| consume((0..times).map(|_| string.load().len() as i64).sum())),
            _ => return None,
        })
    };
    (0..threads).map(|_| body()).collect()
}

fn main() {
    serve(prepare);
}
