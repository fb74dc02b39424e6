/** The picture of the servers: where each stands, and what can be done to it. */
import { expect, test } from 'vitest';
import { type FaultVerb, faults, verbs } from '../../src/lab/faults/faults.ts';
import type { EventContent, StageEvent } from '../../src/lab/stage/events.ts';
import { fold } from '../../src/page/client/event-log.ts';
import { brokenNames, endedBy, offeredVerbs, tiersOf } from '../../src/page/client/run-model.ts';
import { en } from '../../src/page/client/texts-en.ts';
import { zh } from '../../src/page/client/texts-zh.ts';

const part = (name: string, state: 'runs' | 'paused' | 'stopped' = 'runs') => ({ name, state });

test('every server of a sale has its place, in the order in which a purchase passes them', () => {
  const names = ['mariadb', 'redis-main', 'zookeeper', 'redis-1', 'nginx', 'rabbitmq', 'api-1'];
  const all = [...names, 'api-worker-1', 'redis-replica', 'sentinel-1'].map((name) => part(name));
  const shown = tiersOf(all).map((tier) => tier.map(({ name }) => name));
  expect(shown.flat().toSorted()).toEqual(all.map(({ name }) => name).toSorted());
  expect(shown.map(([first]) => first)).toEqual([
    ...['nginx', 'api-1', 'redis-main', 'zookeeper', 'mariadb'],
  ]);
});

test('what stands still is mended first, and a server is offered what can be done to it', () => {
  expect(offeredVerbs(part('redis-1', 'stopped'), true)).toEqual(['start']);
  expect(offeredVerbs(part('nginx', 'paused'), true)).toEqual(['resume', 'kill']);
  expect(offeredVerbs(part('redis-1'), true)).toEqual(['mend']); // It is slow, or cut off.
  expect(offeredVerbs(part('nginx'), false)).toEqual(['stop', 'kill', 'pause']);
  expect(offeredVerbs(part('mariadb'), false)).toContain('drop');
  expect(offeredVerbs(part('redis-2'), false)).toContain('restart-empty');
  expect(offeredVerbs(part('api-2'), false)).toContain('step-clock-back');
  expect(offeredVerbs(part('api-worker-1'), false)).not.toContain('step-clock-back');
});

test('what is offered can hit the server, as the table of faults says', () => {
  const hitsOf = (name: string) =>
    new Set(offeredVerbs(part(name), false).map((verb) => faults[verb as FaultVerb].hits));
  expect(hitsOf('nginx')).toEqual(new Set(['process']));
  expect(hitsOf('mariadb')).toEqual(new Set(['process', 'network']));
  expect(hitsOf('redis-2')).toEqual(new Set(['process', 'redis', 'network']));
  expect(hitsOf('api-1')).toEqual(new Set(['process', 'instance']));
});

test('what has ended is called by what was done to it', () => {
  expect(endedBy(['stop redis-1'])).toBe('stopped');
  expect(endedBy(['slow redis-1 by 2000 ms', 'kill redis-1'])).toBe('killed');
  expect(endedBy(['fill the disk of redis-1'])).toBe('ended');
  expect(endedBy([])).toBe('ended');
});

test('every verb that is offered is one of the lab, and says in both languages what it will do', () => {
  const states = ['runs', 'paused', 'stopped'] as const;
  const names = ['nginx', 'redis-1', 'mariadb', 'api-1', 'api-worker-1', 'zookeeper'];
  const offered = names.flatMap((name) =>
    states.flatMap((state) => offeredVerbs(part(name, state), false)),
  );
  for (const verb of new Set(offered)) {
    expect([...verbs, 'start', 'resume']).toContain(verb);
    for (const { handVerbs } of [en, zh]) expect(handVerbs[verb]?.[1], verb).toBeTruthy();
  }
});

test('a fault is open until it ends; two of one name are told apart', () => {
  const emitted: EventContent[] = [
    { kind: 'started', experiment: 'break-redlock', about: { en: '', zh: '' }, options: {} },
    { kind: 'fault', id: 1, name: 'stop redis-1' },
    { kind: 'fault', id: 2, name: 'stop redis-1' },
    { kind: 'healed', id: 1, name: 'stop redis-1' },
  ];
  const events = emitted.map((event, number): StageEvent => ({ ...event, number, at: '0' }));
  const { run } = fold(events);
  expect(run && brokenNames(run)).toEqual(['stop redis-1']);
});
