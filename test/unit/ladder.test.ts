/** The ladder: its rows, claims and sentences, and the rushes and races that show every claim. */
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { allRaces, defaults, rushes, shortRaces } from '../../src/lab/drills/demo-plan.ts';
import { isAsClaimed, isStarved } from '../../src/lab/drills/run-rung.ts';
import { parsePause } from '../../src/lab/play/pauses.ts';
import { claimOn } from '../../src/lab/play/race-verdict.ts';
import { serversLane } from '../../src/lab/play/schedule.ts';
import { raceNames, type Schedule, schedules } from '../../src/lab/play/schedules.ts';
import { workerLane } from '../../src/lab/stage/lane-messages.ts';
import { type Audit, audit, checks, unknownUnlessTried } from '../../src/service/audit/audit.ts';
import { collectFacts } from '../../src/service/audit/collect.ts';
import { readConfig } from '../../src/service/config.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { saleKeys } from '../../src/service/connections/sale-keys.ts';
import type { CheckName, Verdict } from '../../src/service/domain.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import {
  type Break,
  type Claim,
  circumstances,
  claimOf,
  type Rung,
} from '../../src/service/ladder/rung.ts';
import {
  allowedRungs,
  isRungName,
  type RungName,
  rung,
  rungNamed,
  rungNames,
} from '../../src/service/ladder/rungs.ts';
import { languages, texts } from '../../src/texts/texts.ts';
import { withCode } from '../support/basics.ts';
import { facts, refused } from './facts.ts';

const kindOf = ({ under }: Break) => circumstances[under];

test('a row of the ladder needs a chapter only', () => {
  expect(rung({ chapter: 3 })).toEqual({
    ...{ chapter: 3, lockInside: false, scope: 'user', instances: 4, rails: false },
    ...{ onePerUser: true, pauses: [], breaks: [], queueServer: 'redis-main' },
    inventory: rungNamed('check-then-insert').inventory,
  });
});

const keepsStockInRedis = (name: string): boolean =>
  rungNamed(name).queue !== undefined ||
  (name.startsWith('redis-') && rungNamed(name).chapter === 1);

/** Connections that never connect: lazy Redis clients, and a MySQL with one voucher. */
function offline(name: string): { connections: Connections; close: () => void } {
  const config = readConfig({
    MYSQL_URL: 'mysql://nobody@127.0.0.1:1/none',
    REDIS_URL: 'redis://127.0.0.1:1',
    TOKEN_SECRET: 'a secret of more than thirty-two characters',
  });
  const clients: Redis[] = [];
  const lazy = () => {
    const client = new Redis({ lazyConnect: true });
    Object.assign(client, {
      evalsha: async () => ['sale', [], 0, []],
      hget: async () => (keepsStockInRedis(name) ? '3' : null),
      hgetall: async () => ({}),
      hscan: async () => ['0', []],
    });
    clients.push(client);
    return client;
  };
  const times = { createdAt: new Date(0), endTime: new Date(Date.now() + 60_000) };
  const voucher = { ...times, rung: name, initialStock: 3, stock: 3 };
  const db = {
    query: async () => {},
    execute: async (sql: string) => [sql.includes('FROM vouchers') ? [voucher] : []],
    rollback: async () => {},
    release: () => {},
    destroy: () => {},
  };
  const connections = {
    ...{ config, saleKeys: saleKeys(1), redis: lazy, newRedis: lazy },
    redlockMasters: () => [lazy(), lazy(), lazy()],
    mysql: () => ({ getConnection: async () => db, execute: db.execute }),
    zookeeper: () => ({}),
    rabbitmq: () => ({}),
    ready: async () => {},
  } as unknown as Connections;
  return { connections, close: () => clients.map((client) => client.disconnect()) };
}

type Broken = readonly CheckName[];
const twice = 'one-order-per-user';
const bothTwice: Broken = ['no-oversell', twice];
const perProcess: Broken = [twice, 'mutual-exclusion'];

/** What a rush breaks on one instance, and on four; a rung that is not listed breaks nothing. */
const brokenByRush: Readonly<Record<string, readonly [onOne: Broken, onFour: Broken]>> = {
  'read-then-write': [['no-oversell'], ['no-oversell']],
  'check-then-insert': [[twice], [twice]],
  'mutex-fresh-key': [perProcess, perProcess],
  'mutex-on-transaction': [[twice], [twice, ...perProcess]],
  'mutex-inside-transaction': [[twice], [twice, ...perProcess]],
  'mutex-bypassed-transaction': [[], perProcess],
  'mutex-per-method': [[], perProcess],
  'mutex-per-user': [[], perProcess],
  'redis-commands': [bothTwice, bothTwice],
};

describe.each(rungNames)('the rung %s', (name) => {
  const row: Rung = rungNamed(name);

  test('opens its lock, its inventory and its queue', async () => {
    const { connections, close } = offline(name);
    const { lock, inventory, queue } = await openRung(name, connections);
    close();
    expect(lock.acquire).toBeTypeOf('function');
    expect(inventory.sell).toBeTypeOf('function');
    expect(queue?.publish).toBeTypeOf(row.queue ? 'function' : 'undefined');
  });

  test('has the facts of its row: locked with a lock, Redis with its stock there, buyers with a queue', async () => {
    const { connections, close } = offline(name);
    const facts = await collectFacts(connections, '9');
    close();
    expect(facts).toMatchObject({ locked: row.lock !== undefined, onePerUser: row.onePerUser });
    expect(facts?.redis !== undefined).toBe(keepsStockInRedis(name));
    expect(facts?.redis?.buyers !== undefined).toBe(row.queue !== undefined);
    const { skipped } = audit({ ...(facts ?? expect.unreachable()), attempts: [], history: [] });
    const judged = checks.filter((check) => !skipped.some((each) => each.check === check.name));
    for (const { check } of row.breaks) expect(judged.map((each) => each.name)).toContain(check);
    const ofLocks: readonly CheckName[] = ['mutual-exclusion', 'progress'];
    if (!row.lock) expect(row.breaks.filter(({ check }) => ofLocks.includes(check))).toEqual([]);
  });

  test('claims what a rush breaks on one instance and on four, and to hold everything else', () => {
    const [onOne, onFour] = brokenByRush[name] ?? [[], []];
    const claimed = ([1, 4] as const).map((instances) => claimOf(row, instances));
    const broken = claimed.map(({ breaks }) => breaks.map(({ check }) => check));
    expect(broken, 'its row of `brokenByRush`, in this file').toEqual([onOne, onFour]);
    const verdicts = [onOne, onFour].map(({ length }) => (length > 0 ? 'violated' : 'held'));
    expect(claimed.map(({ verdict }) => verdict)).toEqual(verdicts);
  });

  test('breaks no promise that it never made, and none that the database would hide', () => {
    const duplicates = row.breaks.some(({ check }) => check === twice);
    expect(duplicates && (row.rails || !row.onePerUser)).toBe(false);
  });

  test('is rushed as its row says, then in every circumstance of a rush that breaks it', () => {
    const requests = rushes(5).filter((request) => request.rung === name);
    const { instances, pauses } = row;
    const expected = { ...defaults, instances, pauses, balancer: 'nginx', seed: 5, retries: 0 };
    expect(requests[0]).toMatchObject(expected);
    const rushed = requests.flatMap((request) => claimOf(row, request.instances).breaks);
    for (const each of row.breaks.filter((one) => kindOf(one) === 'rush'))
      expect(rushed).toContain(each);
    const retries = requests.map((request) => request.retries);
    expect(retries.filter((count) => count > 0)).toEqual(row.retries ? [row.retries] : []);
  });

  test('has pauses that a rush can make', () => {
    for (const pause of row.pauses) expect(parsePause(pause)).not.toBeNull();
  });

  test('is raced in every circumstance with a fault that breaks it', () => {
    const raced = allRaces.filter((each) => each.rung === name).map(({ race }) => race);
    const played = raced.map((race): string => schedules[race].under);
    const faults = row.breaks.filter((one) => kindOf(one) === 'fault').map(({ under }) => under);
    expect(played).toEqual(expect.arrayContaining(faults));
  });
});

describe('the ladder', () => {
  test('is in teaching order: chapters never go back', () => {
    const chapters = rungNames.map((name) => rungNamed(name).chapter);
    expect(chapters).toEqual(chapters.toSorted((a, b) => a - b));
  });

  test('has each lock under one name: a row with the lock of another row says whose it is', () => {
    const locked = rungNames.filter((name) => rungNamed(name).lock);
    const named = locked.filter((name) => rungNamed(name).lockOf === undefined);
    expect(new Set(named.map((name) => rungNamed(name).lock)).size).toBe(named.length);
    for (const name of locked) {
      const { lock, lockOf = name } = rungNamed(name);
      expect(named).toContain(lockOf);
      expect(rungNamed(lockOf).lock).toBe(lock);
    }
  });

  test('shows the headline behind nginx and behind Node’s own cluster', () => {
    const headline = rushes(1).filter(
      (request) => request.rung === 'mutex-per-user' && request.instances > 1,
    );
    expect(headline.map(({ balancer }) => balancer)).toEqual(['nginx', 'cluster']);
  });

  test('ends with a rung that holds with any number of instances', () => {
    const last = rungNamed(rungNames.at(-1) ?? '');
    expect(last).toMatchObject({ chapter: 6, rails: true, onePerUser: true, breaks: [] });
  });

  test('answers an unknown name with every name that it has', () => {
    for (const name of rungNames) expect(() => rungNamed('mutex')).toThrow(name);
    for (const name of ['mutex', 'toString', '__proto__', 'constructor']) {
      expect(isRungName(name)).toBe(false);
      expect(() => rungNamed(name)).toThrow(withCode('UNKNOWN_RUNG'));
    }
  });

  test('allows a deployment the rungs that it names, or all', () => {
    expect(allowedRungs(['all'])).toEqual(rungNames);
    expect(allowedRungs(['redlock', 'lua-stream'])).toEqual(['redlock', 'lua-stream']);
    expect(allowedRungs([])).toEqual([]);
    expect(() => allowedRungs(['lua-stream', 'mutex'])).toThrow(withCode('UNKNOWN_RUNG'));
    expect(() => allowedRungs(['all', 'lua-stream'])).toThrow(withCode('UNKNOWN_RUNG'));
  });
});

describe.each(languages)('the texts in %s', (language) => {
  const { chapters, rungs, checks: promises, circumstances: cases, reasons } = texts[language];

  test('have no reason that no rung has', () => {
    const used = rungNames.flatMap((name) => rungNamed(name).breaks.map(({ because }) => because));
    expect(Object.keys(reasons).sort()).toEqual([...new Set(used)].sort());
  });

  test('have no sentence twice, and each in their own language', () => {
    const [ideas, lessons] = (['idea', 'lesson'] as const).map((part) =>
      Object.values(rungs).map((each) => each[part]),
    );
    const sentences = [chapters, promises, cases, reasons].map((part) => Object.values(part));
    for (const part of [ideas ?? [], lessons ?? [], ...sentences]) {
      expect(new Set(part).size).toBe(part.length);
      for (const sentence of part)
        expect(/\p{Script=Han}/u.test(sentence), sentence).toBe(language === 'zh');
    }
  });
});

describe('the drills', () => {
  const faults = raceNames.filter((name) => circumstances[schedules[name].under] === 'fault');
  const playedUnder = (under: string) =>
    new Set(allRaces.filter(({ race }) => schedules[race].under === under).map(({ rung }) => rung));
  const excludes = (name: RungName) =>
    rungNamed(name).lock !== undefined && claimOf(rungNamed(name), 4).verdict === 'held';

  test('play every fault of a lock on every lock that excludes several instances', () => {
    const locked = rungNames.filter(excludes);
    expect(locked).toEqual(expect.arrayContaining(['redis-spin', 'redis-stock', 'redlock']));
    for (const name of faults) {
      const { under, needs, onlyHere }: Schedule = schedules[name];
      if (needs === 'queue' || onlyHere) continue;
      const patient = locked.filter((rung) => needs !== 'waiters' || rung !== 'redis-no-retry');
      const servers = (rung: RungName) => rungNamed(rung).lockService?.servers ?? [];
      const faulted = patient.filter((rung) =>
        needs === 'lock-service' || needs === 'lock-alone'
          ? servers(rung).length > 0 && !(needs === 'lock-alone' && rung === 'redis-stock')
          : needs !== 'lock-redis' || servers(rung).some((server) => server.startsWith('redis')),
      );
      expect(faulted.length, name).toBeGreaterThan(8);
      expect([...playedUnder(under)], name).toEqual(expect.arrayContaining(faulted));
    }
  });

  test('kill and pause an instance also on a rung without a lock, such as the final one', () => {
    for (const under of ['crash-between-writes', 'holder-dies', 'holder-pauses'])
      for (const rung of ['row-lock', 'lua-stream'] as const)
        expect(playedUnder(under)).toContain(rung);
    expect(playedUnder('holder-dies')).not.toContain('read-then-write');
  });
});

describe.each(raceNames)('the race %s', (name) => {
  const schedule: Schedule = schedules[name];
  const claims = (rungName: string) =>
    rungNamed(rungName).breaks.some(
      ({ under, check }) => under === schedule.under && check === schedule.shows,
    );

  test('is claimed by its rung, and not by the next one, which is higher on the ladder', () => {
    const { rung: buggy, next } = schedule;
    if (next === undefined) return expect(claims(buggy)).toBe(false);
    expect([claims(buggy), claims(next)]).toEqual([true, false]);
    expect(rungNames.indexOf(next)).toBeGreaterThan(rungNames.indexOf(buggy));
    expect(claimOn(rungNamed(buggy), schedule)).toBe('violated');
    expect(claimOn(rungNamed(next), schedule)).toBe('held');
  });

  test('has two lanes of one user, where its rung claims that a user has two orders', () => {
    const { rung: buggy, under, lanes }: Schedule = schedules[name];
    const claims = rungNamed(buggy).breaks.filter((each) => each.under === under);
    if (!claims.some(({ check }) => check === twice)) return;
    const users = Object.values(lanes);
    expect(new Set(users).size, 'users').toBeLessThan(users.length);
  });

  test('is played in the demo on its rung and on the next one', () => {
    const played = shortRaces.filter(({ race }) => race === name);
    const { rung, next = [] } = schedule;
    expect(played.map((each) => each.rung)).toEqual([rung, next].flat());
  });

  test('is played in the drills on its rung, on others, and last on the next one', () => {
    const played = allRaces.filter(({ race }) => race === name).map((each) => each.rung);
    expect(played[0]).toBe(schedule.rung);
    if (schedule.next) expect(played.at(-1)).toBe(schedule.next);
    expect(new Set(played).size).toBe(played.length);
    if (circumstances[schedule.under] === 'rush') expect(played).toHaveLength(2);
  });

  test('starts a lane before it waits for it or kills it, and uses every lane', () => {
    const started = new Set<string>();
    for (const step of schedule.steps) {
      if (step.act === 'run') started.add(step.lane);
      if (step.lane !== serversLane) expect(started).toContain(step.lane);
    }
    started.delete(workerLane); // It sends no request.
    expect([...started].sort()).toEqual(Object.keys(schedule.lanes).sort());
    for (const lane of [...(schedule.nested ?? []), ...(schedule.forgets ?? [])])
      expect(started).toContain(lane);
  });

  test('marks one wrong step', () => {
    expect(schedule.steps.filter(({ wrong }) => wrong)).toHaveLength(1);
  });
});

describe('a run is as claimed', () => {
  const [stock, twice] = ['no-oversell', 'one-order-per-user'] as const;
  const found = (verdict: Verdict, ...violated: CheckName[]): Audit => {
    const of = (check: CheckName) => (violated.includes(check) ? 'violated' : 'held');
    const finding = (check: CheckName) => ({ check, verdict: of(check), count: 1 }) as const;
    return { verdict, findings: [stock, twice].map(finding), skipped: [] };
  };
  const claim = (...broken: CheckName[]): Claim => {
    const reason = { under: 'two-requests-at-once', because: 'commands-interleave' } as const;
    const breaks = broken.map((check) => ({ ...reason, check }));
    return { verdict: breaks.length > 0 ? 'violated' : 'held', breaks };
  };
  const undecided = { check: stock, verdict: 'unknown', count: 0 } as const;
  const [, ofUsers = expect.unreachable()] = found('violated', twice).findings;
  const oneUnknown: Audit = { ...found('violated'), findings: [ofUsers, undecided] };

  test.each<[string, Audit, Claim, boolean]>([
    ['when everything held that should', found('held'), claim(), true],
    ['when the claimed violation showed', found('violated', twice), claim(twice), true],
    ['when all showed', found('violated', twice, stock), claim(stock, twice), true],
    ['not when the audit could not decide', found('unknown'), claim(), false],
    ['not when one check could not decide', oneUnknown, claim(twice), false],
    ['not when something broke that should hold', found('violated', stock), claim(), false],
    ['not when a claimed violation did not show', found('held'), claim(twice), false],
    ['not when another check broke instead', found('violated', stock), claim(twice), false],
    ['not when another broke as well', found('violated', stock, twice), claim(twice), false],
    ['not when one of two did not show', found('violated', stock), claim(stock, twice), false],
  ])('%s', (_, audited, claimed, expected) => {
    expect(isAsClaimed(audited, claimed)).toBe(expected);
  });
});

test.each([
  ['not-ready', 1, true],
  ['queue-full', 1, true],
  ['lock-service-unavailable', 1, true],
  ['not-ready', 0, false],
  ['busy', 1, false],
  ['database-busy', 1, false],
])('a rush with refusals as %s and %d left in stock was starved: %j', (reason, stock, starved) => {
  expect(isStarved(facts({ stock, attempts: [refused('9', reason)] }))).toBe(starved);
});

test('what nobody tried is unknown and not held; what was found stays found', () => {
  const verdicts = (['held', 'violated', 'unknown'] as const).map((verdict) => {
    const audited = { verdict, findings: [], skipped: [] };
    return [unknownUnlessTried(true, audited).verdict, unknownUnlessTried(false, audited).verdict];
  });
  expect(verdicts).toEqual([
    ['held', 'unknown'],
    ['violated', 'violated'],
    ['unknown', 'unknown'],
  ]);
});
