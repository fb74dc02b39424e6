/**
 * The six exercises of the workshop. Each change is a mutant's too: of the final rung, or of a lock
 * in test/mutants/lock-mutants.ts. Their texts are in docs/workshop/exercises.md.
 */
import { mutants } from '../mutants/mutants.ts';
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
