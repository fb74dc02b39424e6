// A process of the lock storm: async owners that want the same keys as other processes do. Usage:
// node lock-storm-contender.mjs '{"name","seed","folder","leaseMs","bellMs","keys":[…]}' Prints
// "ready"; "go", "calm", "stop" and "try" arrive on its standard input. What happens is appended to
// a file.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { asOneOwner } from '../../dist/locks/shared/owner.js';
import { openWitness } from './lock-witness.mjs';
import { openLock } from './open-lock.mjs';

const { name, seed, folder, leaseMs, bellMs, keys } = JSON.parse(process.argv[2]);
const witness = openWitness(folder);
const locks = new Map();
for (const { rung } of keys) if (!locks.has(rung)) locks.set(rung, await openLock(rung));

/** The lanes that have not entered since "calm" was said. */
const waiting = new Set();
let sections = 0;
let stopping = false;

/** The clock that all processes of the machine share, in milliseconds. */
const now = () => Number(process.hrtime.bigint()) / 1e6;
const record = (event, facts) =>
  appendFileSync(
    join(folder, `${name}.jsonl`),
    `${JSON.stringify({ at: now(), process: name, event, ...facts })}\n`,
  );

/** Its name in the lock's keys: a field of the hash begins with it. */
async function recordClient({ key, rung }) {
  const redis = new Redis(process.env.REDIS_URL);
  redis.on('error', () => {}); // It connects again.
  let client;
  while (!client) client = await clientName(redis, rung).catch(() => sleep(50));
  redis.disconnect();
  record('client', { key, client });
}

/** A process that starts in the middle of a storm meets its faults: then this fails. */
async function clientName(redis, rung) {
  const own = `${name}-${randomUUID()}`;
  const lease = await locks.get(rung).acquire(own, { waitMs: 5_000 });
  const [owner] = await redis.hkeys(`lock:${own}`);
  await lease.release();
  return owner?.split(':')[0];
}

/** How one turn of a lane asks, and how long it stays inside. */
function turnOf(random, isBell) {
  const sectionMs = random(100) < 10 ? 30 + random(120) : random(4);
  if (isBell) return { style: 'long', sectionMs, waitMs: 15_000 };
  const style = ['bounded', 'bounded', 'aborted', 'long', 'try'][random(5)];
  return {
    style,
    sectionMs: random(300) === 0 ? leaseMs * 1.5 : sectionMs,
    waitMs: { bounded: 10 + random(400), aborted: 15_000, long: 15_000, try: 0 }[style],
    abortMs: 5 + random(300),
    enters: random(10) === 0 ? 2 : 1,
  };
}

async function lane({ key, rung, arrival }, number, generator) {
  const random = (below) => uniformInt(generator, 0, below - 1);
  const isBell = arrival === 'bell';
  while (!stopping) {
    await sleep(isBell ? untilBell(key) : random(15));
    if (stopping) return;
    await asOneOwner(() => takeTurn({ key, rung, lane: number }, turnOf(random, isBell)));
  }
}

/** All processes ask at the strokes of one clock, so that their waits begin together. */
const untilBell = (key) => {
  const offsetMs = (key.length * 97) % bellMs;
  return bellMs - ((Date.now() - offsetMs) % bellMs);
};

async function takeTurn(place, turn) {
  const { key, lane } = place;
  const asked = now();
  record('asked', { key, lane, style: turn.style });
  const lease = await acquire(place, turn).catch((error) => {
    record('refused', { key, lane, reason: error.code ?? error.name });
    return undefined;
  });
  if (lease === null) record('refused', { key, lane, reason: 'not-in-time' });
  if (!lease) return;
  await enter(place, turn, lease, asked).catch((error) =>
    record('refused', { key, lane, reason: error.code ?? error.name }),
  );
  await lease.release().then(
    () => record('released', { key, lane }),
    (error) => record('release-failed', { key, lane, reason: error.code ?? error.name }),
  );
}

async function acquire({ key, rung }, { style, waitMs, abortMs }) {
  const signal = style === 'aborted' ? AbortSignal.timeout(abortMs) : undefined;
  return locks.get(rung).acquire(key, { waitMs, ...(signal && { signal }) });
}

async function enter({ key, rung, lane }, { style, sectionMs, enters }, lease, asked) {
  lease.assertHeld();
  if (waiting.delete(`${key} ${lane}`)) console.log(`entered ${key} ${lane}`);
  const section = `${name}.${lane}.${++sections}`;
  const at = now();
  const { beside, read } = witness.enter(key, section);
  record('entered', { at, key, lane, style, section, asked, beside, read });
  if (enters === 2) await enterAgain({ key, rung, lane }, lease);
  await sleep(sectionMs, undefined, { signal: lease.signal }).catch(() => {});
  const wrote = isHeld(lease) ? witness.write(key, section, read) : null;
  witness.leave(key, section);
  record('left', { key, lane, section, wrote });
}

async function enterAgain({ key, rung, lane }, outer) {
  const inner = await locks
    .get(rung)
    .acquire(key, { waitMs: 0 })
    .catch(() => undefined);
  if (inner === null && isHeld(outer)) record('re-entry-refused', { key, lane });
  await inner?.release().catch(() => {});
}

/** As a sale does right before its commit: a lease that is lost writes nothing. */
function isHeld(lease) {
  try {
    lease.assertHeld();
    return true;
  } catch {
    return false;
  }
}

/** A free lock is acquired at the first try, in this process too. */
async function tryOnce({ key, rung }) {
  const lease = await locks.get(rung).acquire(key, { waitMs: 0 }).catch(String);
  record('tried', { key, granted: typeof lease === 'object' && lease !== null });
  if (lease?.release) await lease.release();
}

const tasks = {
  go: () =>
    Promise.all(
      keys.flatMap((key, index) =>
        Array.from({ length: key.lanes }, (_, number) =>
          lane(key, number, xoroshiro128plus(seed * 1_000 + index * 100 + number)),
        ),
      ),
    ).then(() => console.log('stopped')),
  calm: () => {
    for (const { key, lanes } of keys)
      for (let number = 0; number < lanes; number++) waiting.add(`${key} ${number}`);
  },
  stop: () => {
    stopping = true;
  },
  try: async () => {
    for (const key of keys) await tryOnce(key);
    console.log('tried');
  },
};

for (const key of keys) if (key.rung === 'redis-fair') await recordClient(key);
const input = createInterface({ input: process.stdin });
input.on('line', (line) => tasks[line]());
input.on('close', () => process.exit());
console.log('ready');
