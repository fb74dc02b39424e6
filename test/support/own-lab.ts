/**
 * The lab of this worker: another file runs at the same time, in another worker. The first file of
 * a worker starts it, for itself and for the files after it.
 */
import { inject } from 'vitest';
import { Lab } from '../../src/lab/environment/lab.ts';
import { processRef } from '../../src/lab/environment/process-table.ts';
import type { Database } from '../../src/lab/environment/servers/database.ts';
import { shortLeases, type TestLab, testLabFolder } from './lab.ts';
import { worker } from './own-ports.ts';

async function startedLab(database: Database): Promise<TestLab> {
  const folder = testLabFolder(process.cwd(), database, worker);
  const owner = processRef(process.ppid) ?? undefined; // Vitest. That of an earlier run is dead.
  const lab = Lab.running(folder) ?? (await Lab.start(folder, () => {}, { database, owner }));
  return { folder, baseUrl: lab.baseUrl, environment: { ...lab.environment, ...shortLeases } };
}

const database = process.env['LAB_DATABASE'] as Database | undefined;
/** There, what sends no SQL is not tested again. */
export const isOnMysql = database === 'mysql';
export const ownLab: TestLab = database ? await startedLab(database) : inject('lab');
