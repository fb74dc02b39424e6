/**
 * The primary: forks API instances and order workers, replaces dead ones, and stops all at the end.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { countRestart, countRestartsOf } from '../metrics/processes.ts';
import { recordDeath } from '../trace/history.ts';
import { watch } from './watch.ts';

interface Role {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A child that has not ended this long after `DRAIN_MS` is killed. */
export const childGraceMs = 5_000;
const shortLifeMs = 5_000;
/** No child makes tables: the account that does stays in the primary. */
const withoutOwner = { MYSQL_OWNER_URL: '', MYSQL_OWNER_URL_FILE: '' };

/** The observer is beside the order workers. */
export function roles(config: Config): Role[] {
  const { NAME, INSTANCES, ORDER_WORKERS, PORT, BALANCER } = config;
  const port = (index: number) => String(BALANCER === 'cluster' ? PORT : PORT + index);
  const api = Array.from({ length: INSTANCES }, (_, index) => ({
    program: 'api',
    env: { INSTANCE: `${NAME}-${index + 1}`, PORT: port(index) },
  }));
  const workers = Array.from({ length: ORDER_WORKERS }, (_, index) => ({
    program: 'order-worker',
    env: { INSTANCE: `${NAME}-worker-${index + 1}` },
  }));
  const isObserved = config.RECONCILE_EVERY_MS > 0 || config.METRICS_PORT > 0;
  const observer = { program: 'observer', env: { INSTANCE: `${NAME}-observer` } };
  const observers = ORDER_WORKERS > 0 && isObserved ? [observer] : [];
  return [...api, ...workers, ...observers].map(withMetrics(config.METRICS_PORT));
}

const withMetrics =
  (port: number) =>
  ({ program, env }: Role, index: number): Role => ({
    program,
    env: { ...env, METRICS_PORT: String(port === 0 ? 0 : port + 1 + index) },
  });

/**
 * Runs until `signal` aborts and every child has ended. A child that does not drain in time is
 * killed.
 */
export async function supervise(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const children = new Set<Worker>();
  const silent = silentChildren(log);

  function start(role: Role, failures = 0): void {
    cluster.setupPrimary({
      exec: fileURLToPath(new URL(`../bin/${role.program}.js`, import.meta.url)),
    });
    const startedAt = performance.now();
    const child = cluster.fork({ ...role.env, ...withoutOwner });
    children.add(child);
    silent.listenTo(child);
    child.once('exit', async (code, killedBy) => {
      children.delete(child);
      if (child.process.pid !== undefined) recordDeath(child.process.pid);
      if (signal.aborted) return;
      const isShortLived = performance.now() - startedAt < shortLifeMs;
      countRestart(role.program);
      log.warn({ event: 'child-exited', child: role.env['INSTANCE'], code, killedBy });
      // The wait grows, so that a child that dies at every start does not use up the processor.
      await sleep(isShortLived ? Math.min(100 * 2 ** failures, 5_000) : 0);
      if (!signal.aborted) start(role, isShortLived ? failures + 1 : 0);
    });
  }

  countRestartsOf(roles(config).map(({ program }) => program));
  for (const role of roles(config)) start(role);
  // In the lab, processes are paused on purpose.
  if (!config.LAB) void watch(silent.look, config.PROGRESS_WITHIN_MS, log, signal);
  if (!signal.aborted) await once(signal, 'abort');
  await stopAll(children, config.DRAIN_MS + childGraceMs, log);
}

async function stopAll(
  children: ReadonlySet<Worker>,
  withinMs: number,
  log: Logger,
): Promise<void> {
  const all = [...children];
  const exits = all.map((child) => once(child, 'exit'));
  for (const child of all) child.process.kill('SIGTERM');
  const timer = new AbortController();
  const deadline = sleep(withinMs, 'late', { signal: timer.signal }).catch(() => 'in time');
  const first = await Promise.race([Promise.all(exits), deadline]);
  if (first === 'late') {
    for (const child of children) child.process.kill('SIGKILL');
    log.error({ event: 'children-killed', count: children.size, withinMs });
  }
  timer.abort();
}

/**
 * Looks of the primary, and not its time: after it stood still itself, what the children said
 * meanwhile is read between two looks. There are four in PROGRESS_WITHIN_MS.
 */
const looksMax = 4;

/** Each child tells that it runs; one that says nothing is killed. */
function silentChildren(log: Logger) {
  /** Since each child was heard. */
  const looksOf = new Map<Worker, number>();
  return {
    /** From its first message on: until then it starts. */
    listenTo(child: Worker): void {
      child.on('message', () => looksOf.set(child, 0));
      child.once('exit', () => looksOf.delete(child));
    },
    async look(): Promise<null> {
      for (const [child, before] of looksOf) {
        const looks = before + 1;
        looksOf.set(child, looks);
        if (looks < looksMax) continue;
        log.error({ event: 'child-silent', pid: child.process.pid });
        child.process.kill('SIGKILL');
      }
      return null;
    },
  };
}
