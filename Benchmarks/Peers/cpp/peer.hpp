// SPDX-License-Identifier: Apache-2.0
//
// Measures a signal of a C++ library as the benchmark asks for it. A request is a line of the input:
// operation, threads, live observers, operations of a round. The answer is a line with begin, end,
// operations and preemptions of each thread, or "-" where the library has no such operation.

#ifndef PEER_HPP
#define PEER_HPP

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

/// What an observer adds to on one thread: a cache line of its own.
struct alignas(64) Counter {
    long value = 0;
};

/// What an observer adds to that several threads call.
inline thread_local long tally;

struct Run {
    long begin, end, done, preemptions;
};

inline long now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline long preemptions() {
    rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/// All threads begin together. The first that has done `times` operations ends it for all.
template <class Body> std::vector<Run> run_together(int threads, long times, const Body &body) {
    std::vector<Run> runs(threads);
    std::vector<std::thread> started;
    std::atomic<int> missing{threads};
    std::atomic<bool> finished{false};
    const long portion = std::max(1L, times / 100);
    for (auto &run : runs) {
        started.emplace_back([&] {
            missing--;
            for (int spins = 1; missing > 0; spins++) {
                if (spins % 10000 == 0) sched_yield();
            }
            const long before = preemptions();
            run.begin = now();
            run.done = 0;
            while (run.done < times && !finished.load(std::memory_order_relaxed)) {
                body(portion);
                run.done += portion;
            }
            finished = true;
            run.end = now();
            run.preemptions = preemptions() - before;
        });
    }
    for (auto &thread : started) thread.join();
    return runs;
}

/// `Signal` has `connect(observer)`, which returns a connection, `disconnect(connection)` and
/// `notify(event)`. `most_threads`: how many the library lets use one signal.
template <class Signal> int serve(int most_threads) {
    std::string operation;
    int threads;
    long live, times;
    while (std::cin >> operation >> threads >> live >> times) {
        Signal signal;
        std::vector<Counter> counters(live + 1);
        for (long i = 0; i < live; i++) {
            auto *counter = &counters[i];
            const long kind = operation == "notify-3-kinds" ? i % 3 : 0;
            if (threads > 1) {
                signal.connect([](long event) { tally += event; });
            } else if (kind == 0) {
                signal.connect([counter](long event) { counter->value += event; });
            } else if (kind == 1) {
                signal.connect([counter](long event) { counter->value -= event; });
            } else {
                signal.connect([counter](long event) { counter->value ^= event; });
            }
        }
        std::vector<Run> runs;
        if (operation.rfind("notify", 0) == 0 && threads <= most_threads) {
            runs = run_together(threads, times, [&](long count) {
                for (long event = 0; event < count; event++) signal.notify(event);
            });
        } else if (operation == "connect") {
            runs = run_together(threads, times, [&](long count) {
                for (long i = 0; i < count; i++) {
                    signal.disconnect(signal.connect(
                        [counter = &counters[live]](long event) { counter->value += event; }));
                }
            });
        }
        if (runs.empty()) std::cout << '-';
        for (auto &run : runs) {
            std::cout << run.begin << ' ' << run.end << ' ' << run.done << ' ' << run.preemptions << ' ';
        }
        std::cout << std::endl;
    }
    return 0;
}

#endif
