;; SPDX-License-Identifier: Apache-2.0

;; Measures Clojure's transactions as the benchmark asks for them: two refs, changed or read together in `dosync`. A request is a
;; line of the input: operation, threads, live observers, operations of a round. The answer is a line with begin, end, operations
;; and preemptions of each thread, or "-" where there is no such operation.

(ns peer
  (:require [clojure.string :as string])
  (:import [java.nio.file Files Path]
           [java.util.concurrent.atomic AtomicBoolean AtomicInteger AtomicLong]))

(set! *warn-on-reflection* true)

(def ^AtomicLong consumed (AtomicLong.))

(defn transfer [from to]
  (fn [^long times]
    (dotimes [_ times]
      (dosync
        (alter from (fn [^long value] (unchecked-dec value)))
        (alter to (fn [^long value] (unchecked-inc value)))))))

(defn sum [from to]
  (fn [^long times]
    (.set consumed
      (loop [i 0, total 0]
        (if (< i times)
          (recur (unchecked-inc i)
            (unchecked-add total (long (dosync (unchecked-add (long @from) (long @to))))))
          total)))))

(defn body [operation]
  (let [from (ref 1000), to (ref 1000)]
    (case operation
      "transfer" (transfer from to)
      "snapshot" (sum from to)
      nil)))

(defn preemptions []
  (let [line (first (filter #(string/starts-with? % "nonvoluntary") (Files/readAllLines (Path/of "/proc/thread-self/status" (make-array String 0)))))]
    (Long/parseLong (string/replace line #"\D" ""))))

;; All threads begin together. The first that has done `times` operations ends it for all.
(defn run-together [threads times body]
  (let [missing (AtomicInteger. threads)
        finished (AtomicBoolean.)
        portion (max 1 (quot (long times) 100))
        runs (mapv (fn [_] (promise)) (range threads))
        run (fn [result]
              (.decrementAndGet missing)
              (loop [spins 1]
                (when (pos? (.get missing))
                  (when (zero? (rem spins 10000)) (Thread/yield))
                  (recur (inc spins))))
              (let [before (preemptions)
                    begin (System/nanoTime)
                    done (loop [done 0]
                           (if (or (>= done (long times)) (.get finished))
                             done
                             (do (body portion) (recur (+ done (long portion))))))]
                (.set finished true)
                (let [end (System/nanoTime)]
                  (deliver result [begin end done (- (long (preemptions)) (long before))]))))]
    (doseq [result runs] (.start (Thread. ^Runnable (fn [] (run result)))))
    (mapcat deref runs)))

(doseq [line (line-seq (java.io.BufferedReader. *in*))]
  (let [[operation threads _ times] (string/split line #" ")
        body (body operation)]
    (println (if body (string/join " " (run-together (Integer/parseInt threads) (Long/parseLong times) body)) "-"))
    (flush)))
