/** A process that cannot end by itself ends all the same. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from '../support/basics.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownPorts } from '../support/servers.ts';
import { linesOf } from '../support/service-process.ts';

interface Stuck {
  /** Its log says this once it runs. */
  readonly event: string;
  /** Loaded before the process: its stop now waits for ever. */
  readonly preload: string;
}

const root = JSON.stringify(`${process.cwd()}/`);
const stuck: Readonly<Record<string, Stuck>> = {
  api: {
    event: 'listening',
    preload: "import { Server } from 'node:net'; Server.prototype.close = () => {};",
  },
  'order-worker': {
    event: 'working',
    preload: `import { createRequire } from 'node:module';
      const { PromisePool } = createRequire(${root})('mysql2/promise');
      PromisePool.prototype.end = () => new Promise(() => {});`,
  },
  service: {
    event: 'working', // Of its order worker, which it cannot end.
    preload: `import { ChildProcess } from 'node:child_process';
      ChildProcess.prototype.kill = () => true;`,
  },
};

const cases = Object.entries(stuck);
test.each(cases)(
  'a stopped %s that cannot end by itself ends, and says what is open',
  async (name, { event, preload }) => {
    const entry = new URL(`../../dist/service/bin/${name}.js`, import.meta.url).pathname;
    const logFile = join(someFolder(), `${name}.log`);
    const port = await ownPorts(19_960);
    const own = { PORT: `${port}`, INSTANCES: '0', ORDER_WORKERS: '1', DRAIN_MS: '100' };
    const module = `data:text/javascript,${encodeURIComponent(preload)}`;
    const running = execa(process.execPath, ['--import', module, entry], {
      env: { ...ownLab.environment, ...own, INSTANCE: 'overdue-1' },
      ...{ stdout: { file: logFile }, reject: false, timeout: 30_000, killSignal: 'SIGKILL' },
    });
    const lines = () => linesOf(existsSync(logFile) ? readFileSync(logFile, 'utf8') : '');
    await waitUntil('the process', 20_000, () => lines().some((line) => line.event === event));
    running.kill('SIGTERM');
    const { exitCode } = await running;
    expect(exitCode).toBe(1);
    const overdue = lines().find((line) => line.event === 'stop-overdue');
    expect(overdue?.open?.length).toBeGreaterThan(0);
  },
);
