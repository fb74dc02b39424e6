/**
 * The lab of this worker: other files run at the same time, in other workers. The first file of a
 * worker starts it, for itself and for the files after it. Each file first gives it the shape that
 * it needs, and leaves it so: the next one may need the same.
 */
import { inject } from 'vitest';
import { defaultShape, Lab } from '../../src/lab/environment/lab.ts';
import { processRef } from '../../src/lab/environment/process-table.ts';
import { type Database, databases } from '../../src/lab/environment/servers/database.ts';
import { networkOf, type ServiceShape } from '../../src/lab/environment/servers/service.ts';
import { shortLeases, type TestLab, testLabFolder } from './lab.ts';
import { worker } from './servers.ts';

async function startedLab(database: Database): Promise<TestLab> {
  const folder = testLabFolder(process.cwd(), database, worker);
  const owner = processRef(process.ppid) ?? undefined; // Vitest. That of an earlier run is dead.
  // The tests on the other database are over.
  const other = databases.find((each) => each !== database) ?? '';
  await Lab.stop(testLabFolder(process.cwd(), other, worker));
  const lab = Lab.running(folder) ?? (await Lab.start(folder, () => {}, { database, owner }));
  // Its environment would ask the Sentinels of the file before.
  if (networkOf(lab.shape) === 'sentinel') await lab.serve(defaultShape);
  return { folder, baseUrl: lab.baseUrl, environment: { ...lab.environment, ...shortLeases } };
}

const database = process.env['LAB_DATABASE'] as Database | undefined;
/** There, what sends no SQL is not tested again. */
export const isOnMysql = database === 'mysql';
export const ownLab: TestLab = database ? await startedLab(database) : inject('lab');

let shape: ServiceShape | null = defaultShape;

/** Of this file. Called before its tests run. Null: any shape, because they choose their own. */
export function needShape(needed: ServiceShape | null): void {
  shape = needed;
}

/** By each file (each-file.ts), also where this module is loaded once for several. */
export const ensureShape = async (): Promise<void> => {
  if (database && shape) await Lab.running(ownLab.folder)?.ensure(shape);
  shape = defaultShape;
};

/**
 * For a file that needs more of the lab than its address.
 * @param shape in which the lab is when the first test begins; null: as it was left.
 */
export function theLab(shape: ServiceShape | null = defaultShape): () => Lab {
  needShape(shape);
  let lab: Lab | null = null;
  return () => {
    lab ??= Lab.running(ownLab.folder);
    if (!lab) throw new Error('the lab is gone');
    return lab;
  };
}
