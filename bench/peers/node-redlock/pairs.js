// Part of tenure, under the Boost Software License 1.0 (see LICENSE).

// node-redlock: many loops, each acquiring and releasing a lock of its own over independent servers.
// usage: node pairs.js SECONDS KEYS PORT...    prints pairs per second and microseconds of CPU per pair
"use strict";

const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

const [seconds, keys, ...ports] = process.argv.slice(2).map(Number);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const cpuMicroseconds = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

let pairs = 0;

async function pairForEver(redlock, key) {
  for (;;) {
    const lock = await redlock.acquire([key], 10_000);
    await lock.release();
    ++pairs;
  }
}

async function main() {
  // what is ready in one turn of the loop leaves in one write, as it does in the library that is compared
  const clients = ports.map((port) => new Redis({ host: "127.0.0.1", port, enableAutoPipelining: true }));
  const redlock = new Redlock(clients, { retryCount: 0 });
  for (let number = 0; number < keys; ++number)
    pairForEver(redlock, `bench:lock:${number}`).catch((error) => {
      console.error(`node-redlock: ${error}`);
      process.exit(1);
    });

  // the first moments connect and compile
  await pause(500);
  const [before, begin, cpu] = [pairs, process.hrtime.bigint(), cpuMicroseconds()];
  await pause(seconds * 1000);
  const done = pairs - before;
  console.log(done / (Number(process.hrtime.bigint() - begin) / 1e9), (cpuMicroseconds() - cpu) / done);
  process.exit(0);
}

main();
