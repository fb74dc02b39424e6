/**
 * The files of examples/contributing/, which CONTRIBUTING.md names: they compile in their place,
 * and the queue keeps its contract.
 */
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { isVerb } from '../../src/lab/faults/faults.ts';
import { compileCopy } from '../../src/lab/mutants/change.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { OrderQueue } from '../../src/service/queues/order-queue.ts';
import { type ClauseName, clauses } from '../contracts/order-queue.ts';
import { quietRedis, readyConnections, testConnections } from '../support/connections.ts';
import { ownStores } from '../support/own-stores.ts';
import { copySources } from '../support/source-copy.ts';

const guide = readFileSync('CONTRIBUTING.md', 'utf8');
const examples = 'examples/contributing';

describe('the examples', () => {
  const copy = copySources();
  afterAll(() => rmSync(copy, { recursive: true }));

  test('compile', async () => {
    cpSync(examples, join(copy, 'src'), { recursive: true });
    for (const path of readdirSync(examples, { recursive: true, encoding: 'utf8' }))
      if (path.endsWith('.ts')) expect(guide).toContain(`(${examples}/${path})`);
    // A new check also has a name in the domain, and a sentence: here it takes those of another.
    const check = join(copy, 'src/service/audit/checks/answered-in-time.ts');
    const named = readFileSync(check, 'utf8').replace("'answered-in-time'", "'progress'");
    writeFileSync(check, named.replace("'answered-late'", "'granted-late'"));
    addFault(join(copy, 'src/lab/faults/redis.ts'));
    await compileCopy(copy);
  });

  test('the fault is a verb, and ends every connection to the Redis that it hits', async () => {
    const { verbs, faultOn } = (await import(
      pathToFileURL(join(copy, 'dist/lab/faults/faults.js')).href
    )) as typeof import('../../src/lab/faults/faults.ts');
    const added = verbs.filter((verb) => !isVerb(verb));
    expect(added).toEqual(['sever-clients']);
    const connections = await readyConnections({ REDIS_URL: quietRedis() });
    const redis = connections.redis('admin');
    const closed = once(redis, 'close');
    const port = Number(new URL(connections.config.REDIS_URL).port);
    const lab = { portOf: () => port } as unknown as Lab;
    for (const verb of added) await faultOn(verb, 'redis-main').inject(lab);
    await closed;
  });

  test('keep their contract: the queue all clauses but those that are named as exceptions', async () => {
    const exceptions = clausesIn(partOf('**5. The exceptions**'));
    const openQueue = await queueOf(copy);
    for (const [clause, keeps] of Object.entries(clauses)) {
      const isException = exceptions.includes(clause as ClauseName);
      const [queue, connections] = await openQueue();
      await connections.mysql().query('TRUNCATE order_queue');
      const openOther = async () => (await openQueue())[0];
      const contestant = { queue, connections, openOther, poison: null, isInOrder: true };
      const withinMs = isException ? 1_500 : 10_000;
      expect(await keeps({ ...contestant, isException, withinMs }), clause).toBe(!isException);
    }
  });
});

/** The next source after these words. */
const partOf = (words: string): string =>
  guide.slice(guide.indexOf(words)).split('```')[1]?.replace(/^ts\n/, '') ?? '';

/** As the guide says: the function, and its row in the table of the file. */
function addFault(file: string): void {
  const table = 'export const redisFaults = {\n';
  const [before = '', rows = ''] = readFileSync(file, 'utf8').split(table);
  const [fault, row] = [partOf('in `src/lab/faults/redis.ts`'), partOf('**Its row**')];
  writeFileSync(file, `${before}${fault}\n${table}${row}${rows}`);
}

const clausesIn = (source: string): ClauseName[] =>
  (Object.keys(clauses) as ClauseName[]).filter(
    (clause) =>
      source.includes(clause) ||
      (source.includes('...unwatched') && clause.startsWith('tells its')),
  );

/** Opens it on a database that has its table. */
async function queueOf(copy: string): Promise<() => Promise<[OrderQueue, Connections]>> {
  const stores = await ownStores();
  const { mysqlTableQueue } = (await import(
    pathToFileURL(join(copy, 'dist/service/queues/mysql-table.js')).href
  )) as { mysqlTableQueue: (...parts: readonly unknown[]) => OrderQueue };
  const migration = /CREATE TABLE[^`]+/.exec(partOf('**4. A table**'))?.[0] ?? '';
  await testConnections(stores).mysql().query(migration);
  return async () => {
    const connections = await readyConnections(stores);
    const redis = connections.redis('admin');
    return [mysqlTableQueue(connections.mysql(), redis, connections.saleKeys), connections];
  };
}
