/** The drills that are races under load: which race, on which rung. The ladder has the claims. */
import { type RaceDrill, raceDrill } from './race-drill.ts';

export const raceDrills = {
  'stale-promotion': raceDrill(
    'a replica without the lock is promoted, under redis-reentrant, multilock and redlock',
    [
      { race: 'stale-promotion', rung: 'redis-reentrant' },
      { race: 'stale-promotion', rung: 'multilock' },
      { race: 'stale-promotion', rung: 'redlock' },
    ],
  ),

  'paused-holder': raceDrill(
    'the owner stands still past its lease, on seven rungs: five locks, a fence and a unique key',
    [
      { race: 'paused-holder', rung: 'redis-reentrant' },
      { race: 'paused-holder', rung: 'redis-atomic' },
      { race: 'paused-holder', rung: 'redlock' },
      { race: 'paused-holder', rung: 'multilock' },
      { race: 'paused-holder', rung: 'zookeeper' },
      { race: 'paused-holder', rung: 'fenced', refusesWrite: true },
      { race: 'paused-holder', rung: 'unique-rail', refusesWrite: true },
    ],
  ),

  'restart-empty': raceDrill(
    'a master restarts without its data, at once or after a lease, under redlock and multilock',
    [
      { race: 'restart-empty', rung: 'redlock' },
      { race: 'restart-empty-delayed', rung: 'redlock' },
      { race: 'restart-empty', rung: 'multilock' },
    ],
  ),

  'zookeeper-session': raceDrill(
    'a session of ZooKeeper expires while its owner is paused, or cut off; the server restarts',
    [
      { race: 'paused-holder', rung: 'zookeeper' },
      { race: 'holder-cut-off', rung: 'zookeeper' },
      { race: 'restart-with-data', rung: 'zookeeper' },
      { race: 'restart-empty', rung: 'zookeeper' },
    ],
  ),

  'slow-masters': raceDrill(
    'too many masters answer too late, or not at all, under multilock and redlock',
    [
      { race: 'servers-slow', rung: 'redlock' },
      { race: 'servers-slow', rung: 'multilock' },
      { race: 'servers-hung', rung: 'redlock' },
      { race: 'servers-hung', rung: 'multilock' },
    ],
  ),

  'long-sale': raceDrill(
    'a sale longer than its lease: without a watchdog, with one, and with one that is cut off',
    [
      { race: 'lease-expires-during-sale', rung: 'redis-atomic', phase: 'slow sale' },
      { race: 'lease-expires-during-sale', rung: 'redis-reentrant', phase: 'slow sale' },
      { race: 'holder-cut-off', rung: 'redis-reentrant' },
    ],
  ),

  'script-flush': raceDrill(
    'the lock servers forget every script (SCRIPT FLUSH), under redis-reentrant and redlock',
    [
      { race: 'scripts-forgotten', rung: 'redis-reentrant' },
      { race: 'scripts-forgotten', rung: 'redlock' },
      { race: 'renewal-forgotten', rung: 'redis-reentrant' },
    ],
  ),
} as const satisfies Record<string, RaceDrill>;
