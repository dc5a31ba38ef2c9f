// SPDX-License-Identifier: Apache-2.0

// A hundred chains of a hundred computed values, each with an effect, of one signal: nanoseconds for each value at one change. The least of
// several rounds, after the compiler has seen the loop.
//
//   node propagate.mjs MODULE     an ES module that exports signal, computed and effect

import { pathToFileURL } from 'node:url';

const { signal, computed, effect } = await import(pathToFileURL(process.argv[2]));
const width = 100, height = 100, changes = 200, rounds = 10;

const source = signal(0);
let sum = 0;
for (let chain = 0; chain < width; chain++) {
    let last = source;
    for (let index = 0; index < height; index++) {
        const previous = last;
        last = computed(() => previous() + 1);
    }
    effect(() => { sum += last(); });
}

let least = Infinity, number = 0;
for (let round = 0; round < rounds; round++) {
    const begin = process.hrtime.bigint();
    for (let change = 0; change < changes; change++) source(++number);
    least = Math.min(least, Number(process.hrtime.bigint() - begin) / (changes * width * height));
}

// Each effect has run at first and after each change, of the last value of its chain.
let expected = 0;
for (let change = 0; change <= number; change++) expected += width * (change + height);
if (sum !== expected) throw new Error(`the effects have summed ${sum}, not ${expected}`);
console.log(least.toFixed(2));
