// SPDX-License-Identifier: Apache-2.0

import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.function.*;
import java.util.stream.*;

/**
 * Measures what Java has as the benchmark asks for it: listeners in a CopyOnWriteArrayList, values
 * in an AtomicLong or an AtomicReference. A request is a line of the input: operation, threads, live
 * listeners, operations of a round. The answer is a line with begin, end, operations and preemptions
 * of each thread, or "-" where there is no such operation.
 */
final class Peer {
    /** What a listener adds to on one thread. */
    static final class Counter {
        long value;
        long a, b, c, d, e;
    }

    /** A thread that has the tally that listeners add to, if several threads call them. */
    static final class Tallying extends Thread {
        long tally;

        Tallying(Runnable body) { super(body); }
    }

    interface Body { void run(long times); }

    static volatile long consumed;

    static Body prepare(String operation, int threads, int live) {
        switch (operation) {
        case "notify":
        case "notify-3-kinds":
            var notified = listeners(threads, live, operation.equals("notify") ? 1 : 3);
            return times -> {
                for (long event = 0; event < times; event++) {
                    for (LongConsumer listener : notified) listener.accept(event);
                }
            };
        case "connect":
            var changed = listeners(threads, live, 1);
            var counter = new Counter();
            return times -> {
                for (long i = 0; i < times; i++) {
                    LongConsumer listener = event -> counter.value += event;
                    changed.add(listener);
                    changed.remove(listener);
                }
            };
        case "set-int":
            var number = new AtomicLong();
            return times -> { for (long i = 0; i < times; i++) number.set(i); };
        case "read-int":
            var read = new AtomicLong(1);
            return times -> {
                long sum = 0;
                for (long i = 0; i < times; i++) sum += read.get();
                consumed = sum;
            };
        case "set-string":
            var one = "sixteen and more".repeat(2);
            var other = one + ".";
            var text = new AtomicReference<String>(one);
            return times -> { for (long i = 0; i < times; i++) text.set((i & 1) == 0 ? one : other); };
        case "read-string": // A read copies nothing: it is the same.
        case "lend-string":
            var shown = new AtomicReference<String>("sixteen and more".repeat(2));
            return times -> {
                long sum = 0;
                for (long i = 0; i < times; i++) sum += shown.get().length();
                consumed = sum;
            };
        default:
            return null;
        }
    }

    static CopyOnWriteArrayList<LongConsumer> listeners(int threads, int live, int kinds) {
        return new CopyOnWriteArrayList<>(IntStream.range(0, live).<LongConsumer>mapToObj(i -> {
            if (threads > 1) return event -> ((Tallying) Thread.currentThread()).tally += event;
            var counter = new Counter();
            switch (i % kinds) {
            case 0: return event -> counter.value += event;
            case 1: return event -> counter.value -= event;
            default: return event -> counter.value ^= event;
            }
        }).collect(Collectors.toList()));
    }

    /** All threads begin together. The first that has done `times` operations ends it for all. */
    static long[][] runTogether(int threads, long times, Body body) throws InterruptedException {
        var runs = new long[threads][];
        var missing = new AtomicInteger(threads);
        var finished = new AtomicBoolean();
        long portion = Math.max(1, times / 100);
        var started = new ArrayList<Thread>();
        for (int index = 0; index < threads; index++) {
            int own = index;
            started.add(new Tallying(() -> {
                missing.decrementAndGet();
                for (int spins = 1; missing.get() > 0; spins++) {
                    if (spins % 10_000 == 0) Thread.yield();
                }
                long before = preemptions();
                long begin = System.nanoTime(), done = 0;
                while (done < times && !finished.get()) {
                    body.run(portion);
                    done += portion;
                }
                finished.set(true);
                long end = System.nanoTime();
                runs[own] = new long[] {begin, end, done, preemptions() - before};
            }));
        }
        for (var thread : started) thread.start();
        for (var thread : started) thread.join();
        return runs;
    }

    static long preemptions() {
        try (var lines = Files.lines(Path.of("/proc/thread-self/status"))) {
            return lines.filter(line -> line.startsWith("nonvoluntary"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).sum();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null;) {
            var request = line.split(" ");
            int threads = Integer.parseInt(request[1]);
            var body = prepare(request[0], threads, Integer.parseInt(request[2]));
            System.out.println(body == null ? "-" : Arrays
                .stream(runTogether(threads, Long.parseLong(request[3]), body))
                .flatMapToLong(Arrays::stream).mapToObj(Long::toString).collect(Collectors.joining(" ")));
        }
    }
}
