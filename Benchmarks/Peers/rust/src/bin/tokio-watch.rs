// SPDX-License-Identifier: Apache-2.0

//! tokio::sync::watch: a value with receivers, which look at it themselves. No task is woken, because
//! none waits.

use peers::{consume, serve, strings, tally, Body, Counter};
use std::sync::Arc;
use tokio::sync::watch;

fn prepare(operation: &str, threads: usize, live: usize) -> Option<Vec<Body>> {
    let sender = Arc::new(watch::channel(1i64).0);
    let [one, other] = strings();
    let string = Arc::new(watch::channel(one.clone()).0);
    let body = || -> Option<Body> {
        let (sender, string) = (sender.clone(), string.clone());
        let (one, other) = (one.clone(), other.clone());
        // A receiver belongs to one thread: each thread has its own.
        let mut receivers: Vec<_> = (0..live).map(|_| (sender.subscribe(), Counter::default())).collect();
        let (reader, string_reader) = (sender.subscribe(), string.subscribe());
        Some(match operation {
            "notify" => Box::new(move |times| {
                for event in 0..times {
                    sender.send_replace(event);
                    for (receiver, counter) in &mut receivers {
                        let event = *receiver.borrow_and_update();
                        if threads == 1 {
                            counter.add(event);
                        } else {
                            tally(event);
                        }
                    }
                }
            }),
            "connect" => Box::new(move |times| {
                let _receivers = &receivers;
                (0..times).for_each(|_| drop(sender.subscribe()));
            }),
            "set-int" => Box::new(move |times| {
                for value in 0..times {
                    sender.send_replace(value);
                }
            }),
            "read-int" => Box::new(move |times| consume((0..times).map(|_| *reader.borrow()).sum())),
            "set-string" => Box::new(move |times| {
                for step in 0..times {
                    string.send_replace(if step & 1 == 0 { &one } else { &other }.clone());
                }
            }),
            "read-string" => Box::new(move |times| {
                consume((0..times).map(|_| string_reader.borrow().clone().len() as i64).sum())
            }),
            "lend-string" => Box::new(move |times| {
                consume((0..times).map(|_| string_reader.borrow().len() as i64).sum())
            }),
            _ => return None,
        })
    };
    (0..threads).map(|_| body()).collect()
}

fn main() {
    serve(prepare);
}
