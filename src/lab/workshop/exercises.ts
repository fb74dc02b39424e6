/** The six exercises of the workshop. Their texts are in docs/workshop/exercises.md. */
import type { Exercise } from './exercise.ts';

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
        file: 'service/locks/shared/watchdog',
        find: 'this.#timer ??= setInterval(() => this.#renewAll(), this.timeoutMs / 3).unref();',
        replace: '',
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
        replace: '',
      },
    ],
    plays: ['race paused-holder --rung fenced', 'run fenced'],
    contract: { file: 'inventories', rung: 'fenced-by-redis' }, // It sells as `fenced` does.
  },
  'claim-the-rest': {
    rung: 'lua-stream',
    changes: [
      {
        file: 'service/queues/shared/stream-reader',
        find: 'if (performance.now() >= claimAt) return claim();',
        replace: '',
      },
    ],
    plays: ['trial worker-dies', 'run lua-stream'],
    contract: { file: 'queues', rung: 'redis-commands' },
  },
  'harmless-retry': {
    rung: 'lua-stream',
    changes: [
      {
        file: 'lua/sale/purchase.lua',
        find: `local boughtId, boughtBy = string.match(bought[userId], '^(%d+):(.*)$')
               if boughtBy == requestId then return { 'accepted', boughtId } end
               return { 'already-ordered', boughtId }`,
        replace: `local boughtId, boughtBy = string.match(bought[userId], '^(%d+):(.*)$')
    if boughtBy ~= requestId then return { 'already-ordered', boughtId } end`,
      },
    ],
    plays: ['trial answer-lost', 'run lua-stream'],
    contract: { file: 'inventories', rung: 'lua-stream' },
  },
} as const satisfies Record<string, Exercise>;

export const exerciseNames = Object.keys(exercises) as (keyof typeof exercises)[];
