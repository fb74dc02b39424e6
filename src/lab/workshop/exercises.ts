/**
 * The six exercises of the workshop and its six bug hunts. Each change of an exercise is that of a
 * mutant too: of the final rung, or of a lock in test/mutants/lock-mutants.ts. A hunt puts a defect
 * of real shops into the final rung. Their texts are in docs/workshop/exercises.md.
 */
import type { RungName } from '../../service/ladder/rungs.ts';
import { labError } from '../errors.ts';
import type { Change } from '../mutants/change.ts';
import { mutants } from '../mutants/mutants.ts';

/** A rung without some of its defences, for a learner to mend. */
export interface Exercise {
  readonly rung: RungName;
  /** How the sources of the project become those that the learner starts from. */
  readonly changes: readonly Change[];
  /** Commands of lockstep. Each must be as the ladder claims. */
  readonly plays: readonly string[];
  readonly contract: Contract;
}

/** A part of the contract suite. */
export interface Contract {
  readonly file: 'locks' | 'queues' | 'inventories';
  readonly rung: RungName;
}

export const exercises = {
  'right-mutex': {
    rung: 'mutex-per-user',
    changes: [
      {
        file: 'service/locks/process-mutex',
        find: 'const entry = entries.get(resource) ?? { mutex: new Mutex(), users: 0 };',
        replace: 'const entry = { mutex: new Mutex(), users: 0 };',
      },
    ],
    plays: ['race check-then-insert --rung mutex-per-user', 'run mutex-per-user'],
    contract: { file: 'locks', rung: 'mutex-per-user' },
  },
  'own-your-lock': {
    rung: 'redis-atomic',
    changes: [
      {
        file: 'lua/locks/release-if-owner.lua',
        find: `if redis.call('GET', KEYS[1]) == ARGV[1] then
                 redis.call('DEL', KEYS[1])
                 return 'released'
               end
               return 'not-yours'`,
        replace: `redis.call('DEL', KEYS[1])
return 'released'`,
      },
    ],
    plays: ['race release-after-expiry --rung redis-atomic', 'run redis-atomic'],
    contract: { file: 'locks', rung: 'redis-atomic' },
  },
  'renew-it': {
    rung: 'redis-reentrant',
    changes: [
      {
        file: 'service/locks/shared/ownership',
        find: 'this.#timer ??= setInterval(() => this.#renewAll(), this.timeoutMs / 3).unref();',
      },
    ],
    plays: ['race lease-expires-during-sale --rung redis-reentrant', 'run redis-reentrant'],
    contract: { file: 'locks', rung: 'redis-reentrant' },
  },
  'fence-it': {
    rung: 'fenced',
    changes: [
      {
        file: 'service/inventory/fenced-insert',
        find: 'await checkFence(db, resourceOf(scope, order), fence);',
      },
    ],
    plays: ['race paused-holder --rung fenced', 'run fenced'],
    contract: { file: 'inventories', rung: 'fenced-by-redis' }, // It sells as `fenced` does.
  },
  'claim-the-rest': {
    rung: 'lua-stream',
    changes: [mutants['no-claim-loop']],
    plays: ['trial worker-dies', 'run lua-stream'],
    contract: { file: 'queues', rung: 'redis-commands' },
  },
  'harmless-retry': {
    rung: 'lua-stream',
    changes: [mutants['not-idempotent']],
    plays: ['trial answer-lost', 'run lua-stream'],
    contract: { file: 'inventories', rung: 'lua-stream' },
  },
} as const satisfies Record<string, Exercise>;

export const exerciseNames = Object.keys(exercises) as (keyof typeof exercises)[];

const script: Contract = { file: 'inventories', rung: 'lua-stream' };
const stream: Contract = { file: 'queues', rung: 'redis-commands' };

const hunt = (
  plays: readonly string[],
  contract: Contract,
  ...changes: readonly Change[]
): Exercise => ({ rung: 'lua-stream', plays, contract, changes });

const purchase = 'lua/sale/purchase.lua';
const reader = 'service/queues/shared/stream-reader';

/** In their order: the learner gives the number. */
export const hunts: readonly Exercise[] = [
  hunt(['run lua-stream'], script, {
    file: purchase,
    find: `if bought[userId] then
             local boughtId, boughtBy = string.match(bought[userId],`,
    replace: `if redis.call('HEXISTS', KEYS[2], userId) then
    local boughtId, boughtBy = string.match(bought[userId] or '',`,
  }),
  hunt(['run lua-stream'], script, {
    file: purchase,
    find: `return { 'already-ordered', boughtId }`,
    replace: `local answer = { 'already-ordered', boughtId }`,
  }),
  hunt(
    ['run lua-stream', 'trial worker-dies'],
    stream,
    {
      file: reader,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code that is looked for
      find: 'export const newConsumerName = (): string => `${consumersOf(process.pid)}${randomUUID()}`;',
      replace: "export const newConsumerName = (): string => 'c1';",
    },
    {
      file: reader,
      find: `const answer = await this.#redis.xautoclaim(this.#orders, orderGroup, this.#name, ...rest);
             const [cursor, entries] = answer as [string, Entry[]];
             return [cursor, await this.#delivered(entries)];`,
      replace: `const idle = ['IDLE', idleMs, '-', '+', this.#count] as const;
    const pending = await this.#redis.xpending(this.#orders, orderGroup, ...idle);
    const others = (pending as Pending[]).filter(([, owner]) => owner !== this.#name);
    const ids = others.map(([id]) => id);
    if (ids.length === 0) return ['0-0', nothing];
    const entries = await this.#redis.xclaim(this.#orders, orderGroup, this.#name, idleMs, ...ids);
    return ['0-0', await this.#delivered(entries as Entry[])];`,
    },
    {
      file: reader,
      find: "const rest = [idleMs, from, 'COUNT', this.#count] as const;",
      replace: 'void from;',
    },
    {
      file: reader,
      find: `import { randomUUID } from 'node:crypto';`,
    },
  ),
  hunt(['run lua-stream', 'trial row-refused'], stream, {
    file: 'service/orders/work-orders',
    find: `if (!isRowRefused(error)) throw error;
           if ((await worker.refusals.add(order)) < refusalsMax) throw error;`,
    replace: `if (!isRowRefused(error)) throw error;
    let refusals = 0;
    refusals += 1;
    if (refusals < refusalsMax) throw error;`,
  }),
  hunt(['run lua-stream', 'trial worker-dies'], stream, {
    file: 'service/queues/shared/order-fields',
    find: 'return { id, voucherId, userId, requestId };',
    replace: 'return { id: String(Number(id)), voucherId, userId, requestId };',
  }),
  hunt(
    ['run lua-stream', 'trial worker-dies-after-dead-letter'],
    script,
    mutants['compensates-twice'],
  ),
];

/** @param number from 1 */
export const huntName = (number: number): string => `bug ${number}`;

export const isHunt = (name: string): boolean => name.startsWith('bug ');

const all = new Map<string, Exercise>([
  ...Object.entries(exercises),
  ...hunts.map((each, index) => [huntName(index + 1), each] as const),
]);

/** An exercise or a hunt. @throws UNKNOWN_EXERCISE */
export function exerciseNamed(name: string): Exercise {
  const exercise = all.get(name);
  if (!exercise) throw labError('UNKNOWN_EXERCISE', name, exerciseNames);
  return exercise;
}
