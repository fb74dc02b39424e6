/** One program of the lab, as a fault sees it. */
import { labError } from '../errors.ts';
import { childrenWith, type ProcessRef } from './process-table.ts';
import { killWithChildren, pauseWithChildren, signalProcess, stopProcess } from './processes.ts';
import { waitUntil } from './wait-until.ts';

export interface LabServer {
  readonly name: string;
  /** SIGTERM; resolves when the program has ended in order. */
  stop(): Promise<void>;
  /** SIGKILL; resolves when the program has ended. */
  kill(): Promise<void>;
  /** SIGSTOP: its connections stay open, and nothing answers. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): Promise<void>;
  /** After `stop` and `kill`: resolves when it runs again. */
  start(): Promise<void>;
}

/** Until the primary of the service has replaced a dead process; it waits longer each time. */
const replacedWithinMs = 30_000;

/** An instance or an order worker, while it runs. @throws UNKNOWN_SERVER */
export function processOf(name: string, service: ProcessRef): ProcessRef {
  const children = childrenWith('INSTANCE', service.pid);
  const found = children.find(({ value }) => value === name);
  if (found) return found;
  throw labError(
    'UNKNOWN_SERVER',
    name,
    children.map(({ value }) => value),
  );
}

/** An instance or an order worker: a child of the service, which replaces it when it dies. */
export function serviceProcess(name: string, service: ProcessRef): LabServer {
  const find = () => childrenWith('INSTANCE', service.pid).find(({ value }) => value === name);
  const started = async (): Promise<ProcessRef> => {
    await waitUntil(`${name} to run`, replacedWithinMs, () => find() !== undefined);
    return find() ?? started();
  };
  return {
    name,
    stop: async () => stopProcess(await started()),
    kill: async () => killWithChildren(await started()),
    pause: async () => pauseWithChildren(await started()),
    resume: async () => signalProcess(await started(), 'SIGCONT'),
    start: async () => {
      await started();
    },
  };
}
