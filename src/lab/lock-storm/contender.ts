/**
 * A process of the lock storm: async owners that want the same keys as other processes do. Usage:
 * node contender.js '{"name","seed","folder","leaseMs","bellMs","keys":[…]}'. It prints "ready";
 * "go", "calm", "stop" and "try" arrive on its standard input. What happens is appended to a file.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { readConfig } from '../../service/config.ts';
import { Connections } from '../../service/connections/connections.ts';
import { ladder } from '../../service/ladder/rungs.ts';
import type { Lease, Lock } from '../../service/locks/lock.ts';
import { asOneOwner } from '../../service/locks/shared/owner.ts';
import type { ContenderTask, LanesOfKey, StormKey } from './kinds.ts';
import { machineMs, openWitness } from './records.ts';

interface ContendingLane extends Pick<StormKey, 'key' | 'rung'> {
  readonly lane: number;
}
type Style = 'bounded' | 'aborted' | 'long' | 'try';
interface Turn {
  readonly style: Style;
  readonly sectionMs: number;
  readonly waitMs: number;
  readonly abortMs: number;
  readonly enters: number;
}

const { name, seed, folder, leaseMs, bellMs, keys } = JSON.parse(
  process.argv[2] ?? '',
) as ContenderTask;
const witness = openWitness(folder);
const connections = new Connections(readConfig(), pino({ level: 'silent' }));
const locks: Readonly<Record<StormKey['rung'], Lock>> = {
  'redis-reentrant': openLock('redis-reentrant'),
  'redis-fair': openLock('redis-fair'),
};

/** The lanes that have not entered since "calm" was said. */
const waiting = new Set<string>();
let sections = 0;
let stopping = false;

function openLock(rung: StormKey['rung']): Lock {
  const { lock: open } = ladder[rung];
  if (!open) throw new RangeError(`${rung} has no lock`);
  return open(connections);
}

const record = (event: string, facts: object): void =>
  appendFileSync(
    join(folder, `${name}.jsonl`),
    `${JSON.stringify({ at: machineMs(), process: name, event, ...facts })}\n`,
  );
const reasonOf = (error: unknown): string => {
  const { code, name: kind } = error as NodeJS.ErrnoException;
  return code ?? kind;
};

/** Its name in the lock's keys: a field of the hash begins with it. */
async function recordClient({ key, rung }: StormKey): Promise<void> {
  const redis = new Redis(connections.config.REDIS_URL);
  redis.on('error', () => {}); // It connects again.
  let client: string | undefined;
  // A process that starts in the middle of a storm meets its faults.
  while (!client)
    client = await clientName(redis, rung).catch(() => sleep(50).then(() => undefined));
  redis.disconnect();
  record('client', { key, client });
}

async function clientName(redis: Redis, rung: StormKey['rung']): Promise<string | undefined> {
  const own = `${name}-${randomUUID()}`;
  const lease = await locks[rung].acquire(own, { waitMs: 5_000 });
  const [owner] = await redis.hkeys(`lock:${own}`);
  await lease?.release();
  return owner?.split(':')[0];
}

type Random = (below: number) => number;

/** How one turn of a lane asks, and how long it stays inside. */
function turnOf(random: Random, isBell: boolean): Turn {
  const sectionMs = random(100) < 10 ? 30 + random(120) : random(4);
  if (isBell) return { style: 'long', sectionMs, waitMs: 15_000, abortMs: 0, enters: 1 };
  const styles = ['bounded', 'bounded', 'aborted', 'long', 'try'] as const;
  const style = styles[random(5)] ?? 'long';
  return {
    style,
    sectionMs: random(300) === 0 ? leaseMs * 1.5 : sectionMs,
    waitMs: { bounded: 10 + random(400), aborted: 15_000, long: 15_000, try: 0 }[style],
    abortMs: 5 + random(300),
    enters: random(10) === 0 ? 2 : 1,
  };
}

async function runLane({ key, rung, arrival }: StormKey, lane: number, own: number): Promise<void> {
  const generator = xoroshiro128plus(own);
  const random: Random = (below) => uniformInt(generator, 0, below - 1);
  const isBell = arrival === 'bell';
  while (!stopping) {
    await sleep(isBell ? untilBell(key) : random(15));
    if (stopping) return;
    await asOneOwner(() => takeTurn({ key, rung, lane }, turnOf(random, isBell)));
  }
}

/** All processes ask at the strokes of one clock, so that their waits begin together. */
function untilBell(key: string): number {
  const offsetMs = (key.length * 97) % bellMs;
  return bellMs - ((Date.now() - offsetMs) % bellMs);
}

async function takeTurn(place: ContendingLane, turn: Turn): Promise<void> {
  const { key, lane } = place;
  const asked = machineMs();
  const refused = (reason: string) => record('refused', { key, lane, reason });
  record('asked', { key, lane, style: turn.style });
  const lease = await acquire(place, turn).catch((error) => {
    refused(reasonOf(error));
    return undefined;
  });
  if (lease === null) refused('not-in-time');
  if (!lease) return;
  await enter(place, turn, lease, asked).catch((error) => refused(reasonOf(error)));
  await lease.release().then(
    () => record('released', { key, lane }),
    (error) => record('release-failed', { key, lane, reason: reasonOf(error) }),
  );
}

async function acquire({ key, rung }: ContendingLane, { style, waitMs, abortMs }: Turn) {
  const signal = style === 'aborted' ? AbortSignal.timeout(abortMs) : undefined;
  return locks[rung].acquire(key, { waitMs, ...(signal && { signal }) });
}

async function enter(
  place: ContendingLane,
  turn: Turn,
  lease: Lease,
  asked: number,
): Promise<void> {
  const { key, lane } = place;
  const { style, sectionMs, enters } = turn;
  lease.assertHeld();
  if (waiting.delete(`${key} ${lane}`)) console.log(`entered ${key} ${lane}`);
  const section = `${name}.${lane}.${++sections}`;
  const at = machineMs();
  const { beside, read } = witness.enter(key, section);
  record('entered', { at, key, lane, style, section, asked, beside, read });
  if (enters === 2) await enterAgain(place, lease);
  await sleep(sectionMs, undefined, { signal: lease.signal }).catch(() => {});
  const wrote = isHeld(lease) ? witness.write(key, section, read) : null;
  witness.leave(key, section);
  record('left', { key, lane, section, wrote });
}

async function enterAgain({ key, rung, lane }: ContendingLane, outer: Lease): Promise<void> {
  const inner = await locks[rung].acquire(key, { waitMs: 0 }).catch(() => undefined);
  if (inner === null && isHeld(outer)) record('re-entry-refused', { key, lane });
  await inner?.release().catch(() => {});
}

/** As a sale does right before its commit: a lease that is lost writes nothing. */
function isHeld(lease: Lease): boolean {
  try {
    lease.assertHeld();
    return true;
  } catch {
    return false;
  }
}

/** A free lock is acquired at the first try, in this process too. */
async function tryOnce({ key, rung }: StormKey): Promise<void> {
  const lease = await locks[rung].acquire(key, { waitMs: 0 }).catch(() => null);
  record('tried', { key, granted: lease !== null });
  await lease?.release();
}

const laneNumbers = ({ lanes }: LanesOfKey): number[] => Array.from({ length: lanes }, (_, n) => n);

const tasks: Readonly<Record<string, () => Promise<void> | void>> = {
  go: async () => {
    const lanes = keys.flatMap((key, index) =>
      laneNumbers(key).map((n) => runLane(key, n, seed * 1_000 + index * 100 + n)),
    );
    await Promise.all(lanes);
    console.log('stopped');
  },
  calm: () => {
    for (const key of keys) for (const n of laneNumbers(key)) waiting.add(`${key.key} ${n}`);
  },
  stop: () => {
    stopping = true;
  },
  try: async () => {
    for (const key of keys) await tryOnce(key);
    console.log('tried');
  },
};

await connections.ready();
for (const key of keys) if (key.rung === 'redis-fair') await recordClient(key);
const input = createInterface({ input: process.stdin });
input.on('line', (line) => void tasks[line]?.());
input.on('close', () => process.exit());
console.log('ready');
