/**
 * The service as a process of its own: for tests of a configuration that the lab's instances do not
 * have.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { nameShards } from './name-shards.ts';
import { ownPorts } from './own-ports.ts';

export interface ServiceProcess {
  readonly baseUrl: string;
  /** Sends SIGTERM. @returns the exit code; null when the process had to be killed. */
  stop(): Promise<number | null>;
}

/**
 * Starts `entry` with one instance, one order worker and these settings, and waits until it is
 * ready.
 */
export async function startService(
  entry: string,
  settings: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  await nameShards(settings);
  const port = await ownPorts(19_900);
  const numbers = { PORT: String(port), INSTANCES: '1', ORDER_WORKERS: '1' };
  // The first is that of the lab's quiet Redis.
  const own = { ORDER_DURABILITY: 'everysec', RECONCILE_EVERY_MS: '0' };
  const child = spawn(process.execPath, [entry], {
    env: { PATH: process.env['PATH'], ...numbers, ...own, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      log += String(part);
    });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const stop = async () => {
    child.kill('SIGTERM');
    const killing = setTimeout(() => child.kill('SIGKILL'), 20_000);
    const [code] = await ended;
    clearTimeout(killing);
    return code;
  };
  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    await waitUntil('the service to be ready', 20_000, async () => {
      if (child.exitCode !== null) throw new Error('the service ended');
      return (await fetch(`${baseUrl}/readyz`)).ok;
    });
  } catch (error) {
    await stop();
    throw new Error(`The service did not start. Its log:\n${log}`, { cause: error });
  }
  return { baseUrl, stop };
}
