/** Faults of a process: of a server, of nginx, of an instance or of an order worker. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { isKept, putAside } from '../environment/data-folder.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { isAlive, isPaused, processRef } from '../environment/process-table.ts';
import { killWithChildren } from '../environment/processes.ts';
import { workerNames } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { workersAway } from '../environment/workers-away.ts';
import { labError } from '../errors.ts';
import {
  ends,
  type Fault,
  type FaultRow,
  hasEnded,
  isReplaced,
  standsStill,
  type WatchedFault,
} from './fault.ts';

/** SIGTERM for a server: it ends in order, and refuses connections. It starts with its data. */
export const stopServer = (name: string): WatchedFault => ({
  name: `stop ${name}`,
  watch: ends(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.stop();
    return server.start;
  },
});

/** SIGKILL for a server, an instance or a worker. It starts again with its data. */
export const killServer = (name: string): WatchedFault => ({
  name: `kill ${name}`,
  watch: ends(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.kill();
    return server.start;
  },
});

/**
 * SIGSTOP for a server, an instance or a worker: its connections stay open, and nothing answers.
 */
export const pauseServer = (name: string): WatchedFault => ({
  name: `pause ${name}`,
  watch: standsStill(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.pause();
    return server.resume;
  },
});

/** SIGKILL for a server, which starts again at once, with its data. */
export const restartServer = (name: string): WatchedFault => ({
  name: `restart ${name}`,
  watch: isReplaced(name),
  async inject(lab) {
    const server = lab.server(name);
    await server.kill();
    await server.start();
    return server.start;
  },
});

/** SIGKILL for a server, which starts again without its data. The undo gives the data back. */
export const restartEmpty = (name: string): WatchedFault => ({
  name: `restart ${name} empty`,
  async watch(lab) {
    const replaced = await isReplaced(name)(lab);
    return async () => (await replaced()) && isKept(lab.dataFolder(name));
  },
  async inject(lab) {
    const server = lab.server(name);
    const folder = lab.dataFolder(name);
    if (!existsSync(folder)) throw labError('NO_DATA_TO_LOSE', name);
    await server.kill();
    putAside(folder);
    await server.start();
    return () => lab.restoreData(name);
  },
});

/** SIGKILL for one process of the service. Its primary starts another. */
export const killProcess = (pid: number, name = `process ${pid}`): WatchedFault => ({
  name: `kill ${name}`,
  watch: () => hasEnded(pid),
  async inject(lab) {
    process.kill(pid, 'SIGKILL');
    return () => lab.ensure(lab.shape);
  },
});

/**
 * SIGSTOP for one process of the service: it stays connected and does nothing, as in a long garbage
 * collection. The undo resumes it.
 */
export const pauseProcess = (pid: number, name = `process ${pid}`): WatchedFault => ({
  name: `pause ${name}`,
  watch: () => () => isPaused({ pid }),
  async inject() {
    process.kill(pid, 'SIGSTOP');
    await waitUntil(`${name} to stand still`, 5_000, () => isPaused({ pid }), 1);
    return async () => {
      process.kill(pid, 'SIGCONT');
    };
  },
});

const preload = new URL('../../../dist/lab/in-service/hang-on-signal.js', import.meta.url);

/** The settings of a service whose workers can hang. */
export const hangingWorkers = { NODE_OPTIONS: `--import ${fileURLToPath(preload)}` } as const;

/**
 * An order worker hangs: it runs, its connections stay open, its stores answer, and it never gets
 * an answer to its read. Only its own watch can find that. The undo kills it, if it still runs.
 */
export const hangWorker = (name: string): Fault => ({
  name: `hang ${name}`,
  async inject(lab) {
    const hung = processRef(lab.pidOf(name));
    if (hung) process.kill(hung.pid, 'SIGUSR2');
    return async () => {
      if (hung && isAlive(hung)) await killWithChildren(hung);
      await lab.server(name).start();
    };
  },
});

/** Order workers are killed, and the next ones wait before they consume, until the undo. */
const killWorkers = (name: string, workersOf: (lab: Lab) => readonly string[]): WatchedFault => ({
  name,
  async watch(lab) {
    const ended = await Promise.all(workersOf(lab).map((worker) => ends(worker)(lab)));
    return async () => (await Promise.all(ended.map((hasHit) => hasHit()))).every(Boolean);
  },
  async inject(lab) {
    const say = () =>
      inLabRedis(lab, (redis) => redis.set(workersAway.key, '1', 'EX', workersAway.keptSeconds));
    let saying = say();
    const again = () => {
      saying = say().catch(() => {});
    };
    const timer = setInterval(again, workersAway.keptSeconds * 300).unref();
    const undo = async () => {
      clearInterval(timer);
      await saying.catch(() => {}); // Else it may be set again.
      await inLabRedis(lab, (redis) => redis.del(workersAway.key));
    };
    try {
      await saying;
      for (const worker of workersOf(lab)) await lab.server(worker).kill();
    } catch (error) {
      await undo().catch(() => {});
      throw error;
    }
    return undo;
  },
});

/** All order workers: no order is recorded until the undo. */
export const stopWorkers = killWorkers('stop the order workers', ({ shape }) => workerNames(shape));

/** One order worker: until the undo, only the others can have its orders. */
export const killWorker = (worker: string): WatchedFault =>
  killWorkers(`kill ${worker}`, () => [worker]);

const inLabRedis = (lab: Lab, send: (redis: Redis) => Promise<unknown>): Promise<unknown> =>
  withConnections(lab, async (connections) => {
    const redis = connections.labRedis();
    await connections.ready();
    return send(redis);
  });

export const processFaults = {
  stop: {
    hits: 'process',
    done: { en: 'is stopped (SIGTERM)', zh: '已停止（SIGTERM）' },
    on: stopServer,
  },
  kill: {
    hits: 'process',
    done: { en: 'is killed (SIGKILL)', zh: '已被杀掉（SIGKILL）' },
    on: killServer,
  },
  pause: {
    hits: 'process',
    done: {
      en: 'is paused (SIGSTOP): its connections stay open, and nothing answers',
      zh: '已暂停（SIGSTOP）：连接还在，但没有响应',
    },
    on: pauseServer,
  },
  restart: {
    hits: 'process',
    effect: 'momentary',
    done: { en: 'was killed, and runs again with its data', zh: '被杀掉，又带着数据重新运行' },
    on: restartServer,
  },
  'restart-empty': {
    hits: 'process',
    effect: 'momentary',
    done: { en: 'was killed, and runs without its data', zh: '被杀掉，重新运行，但数据丢了' },
    on: restartEmpty,
  },
  hang: { hits: 'worker', on: hangWorker },
} as const satisfies Record<string, FaultRow>;
