/**
 * Faults of a process: of a server, of nginx and its worker processes, of an order worker, or of an
 * instance, whose event loop stands still or whose wall clock is wrong.
 */

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { blockEventLoop, isSilent, setClockRight, stepClock } from '../environment/ask-instance.ts';
import { isKept, putAside } from '../environment/data-folder.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import {
  childrenOf,
  isAlive,
  isPaused,
  type ProcessRef,
  processRef,
} from '../environment/process-table.ts';
import { killWithChildren, signalProcess } from '../environment/processes.ts';
import { workerNames, workersAway } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { labError } from '../errors.ts';
import {
  ends,
  type Fault,
  type FaultRow,
  hasEnded,
  isReplaced,
  momentary,
  standsStill,
  type Watch,
  type WatchedFault,
} from './fault.ts';

/** @param undo what mends it */
const onServer =
  (verb: 'stop' | 'kill' | 'pause', watch: (name: string) => Watch, undo: 'start' | 'resume') =>
  (name: string): WatchedFault => ({
    name: `${verb} ${name}`,
    watch: watch(name),
    async inject(lab) {
      const server = lab.server(name);
      await server[verb]();
      return server[undo];
    },
  });

/** SIGTERM for a server: it ends in order, and refuses connections. It starts with its data. */
export const stopServer = onServer('stop', ends, 'start');

/** SIGKILL for a server, an instance or a worker. It starts again with its data. */
export const killServer = onServer('kill', ends, 'start');

/**
 * SIGSTOP for a server, an instance or a worker: its connections stay open, and nothing answers.
 */
export const pauseServer = onServer('pause', standsStill, 'resume');

/** SIGKILL for a server, which starts again at once, with its data. */
export const restartServer = (name: string): WatchedFault => ({
  name: `restart ${name}`,
  watch: isReplaced(name),
  async inject(lab) {
    await lab.restart(name);
    return lab.server(name).start;
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
    await lab.restart(server.name, () => putAside(folder));
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

/** The event loop of an instance stands still, as in a long computation: it ends by itself. */
export const blockedEventLoop = (instance: string, forMs: number): WatchedFault => ({
  ...momentary(`block ${instance} for ${forMs} ms`, (lab) => blockEventLoop(lab, instance, forMs)),
  watch: (lab) => () => isSilent(lab, instance),
});

/** Longer than a person thinks. */
export const oneHourMs = 3_600_000;

/** The same until it is mended. */
export const heldEventLoop = (instance: string): WatchedFault => ({
  name: `block ${instance}`,
  watch: (lab) => () => isSilent(lab, instance),
  async inject(lab) {
    const mark = join(lab.historyFolder, `${instance}.blocked`);
    writeFileSync(mark, '');
    await blockEventLoop(lab, instance, oneHourMs, mark);
    return async () => rmSync(mark, { force: true });
  },
});

/**
 * The wall clock of an instance steps back or forward. The monotonic clock goes on. Back by more
 * than 5 s: the instance makes no snowflakes until the clock is right again. Forward: they are of a
 * time that has not come.
 * @param byMs forward; back, when it is negative
 */
export const steppedClock = (instance: string, byMs: number): Fault => ({
  name: `step the clock of ${instance} ${byMs < 0 ? 'back' : 'forward'} by ${Math.abs(byMs)} ms`,
  async inject(lab) {
    await stepClock(lab, instance, byMs);
    return async () => {
      await setClockRight(lab, instance);
      await lab.ensure(lab.shape);
    };
  },
});

/**
 * nginx reads its configuration again (SIGHUP): a new worker process takes the next requests, and
 * the old one ends once it has answered its own. Nothing is left to mend.
 */
export const reloadNginx = momentary('reload nginx', async (lab) => {
  const pid = lab.pidOf('nginx');
  await untilNewWorker(pid, () => void process.kill(pid, 'SIGHUP'));
});

/** SIGKILL for the worker processes of nginx: their requests are cut off, and others take over. */
export const killWorkersOfNginx = momentary('kill the worker processes of nginx', (lab) =>
  untilNewWorker(lab.pidOf('nginx'), (workers) => {
    for (const worker of workers) signalProcess(worker, 'SIGKILL');
  }),
);

/**
 * Runs `act` on the worker processes of nginx, which answer the requests, and waits until the
 * master has started another one.
 * @param pid of its master process
 */
async function untilNewWorker(
  pid: number,
  act: (workers: readonly ProcessRef[]) => void,
): Promise<void> {
  const before = childrenOf(pid);
  act(before);
  const isNew = (worker: ProcessRef) => before.every((each) => each.pid !== worker.pid);
  await waitUntil('nginx to have a new worker process', 10_000, () => childrenOf(pid).some(isNew));
}

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
  'reload-nginx': { hits: 'nginx', effect: 'momentary', on: () => reloadNginx },
  'kill-workers-of-nginx': { hits: 'nginx', effect: 'momentary', on: () => killWorkersOfNginx },
} as const satisfies Record<string, FaultRow>;

export const clockFaults = {
  'block-event-loop': {
    hits: 'instance',
    done: { en: 'does nothing', zh: '什么也不做' },
    on: blockedEventLoop,
  },
  'step-clock-back': {
    hits: 'instance',
    done: { en: 'has a wall clock that is behind', zh: '系统时钟变慢了' },
    on: (name, ms) => steppedClock(name, -ms),
  },
  'step-clock-forward': {
    hits: 'instance',
    done: { en: 'has a wall clock that is ahead', zh: '系统时钟变快了' },
    on: steppedClock,
  },
} as const satisfies Record<string, FaultRow>;
