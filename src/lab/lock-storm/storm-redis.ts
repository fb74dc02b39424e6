/** The Redis of a lock storm: its own server, which is restarted with what it had. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadScript, runScript } from '../../service/connections/scripts.ts';
import { OwnRedis } from '../environment/own-redis.ts';
import { freePorts } from '../environment/ports.ts';
import { isAlive, type ProcessRef } from '../environment/process-table.ts';

const leaveScript = loadScript('locks/leave-fair');

/** Below those that the kernel gives to clients: a killed server finds its port free again. */
const firstPort = 20_300;

const processFile = (folder: string): string => join(folder, 'redis.json');

/** The Redis of a storm whose command was killed runs on. */
export function endKilledStorm(folder: string): void {
  const file = processFile(folder);
  const left = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ProcessRef) : null;
  if (left && isAlive(left)) process.kill(left.pid, 'SIGKILL');
}

const isLatch = (key: string): boolean => key.startsWith('redisson_unlock_latch:');

export class StormRedis extends OwnRedis {
  static async begin(folder: string): Promise<StormRedis> {
    const onStart = (ref: ProcessRef) => writeFileSync(processFile(folder), JSON.stringify(ref));
    // It syncs before it answers: a restart loses no lock.
    const redis = new StormRedis({ folder, port: await freePorts(firstPort), onStart });
    await redis.start();
    return redis;
  }

  async killClients(type: 'normal' | 'pubsub'): Promise<void> {
    await this.admin.call('CLIENT', 'KILL', 'TYPE', type);
  }

  async flushScripts(): Promise<void> {
    await this.admin.script('FLUSH');
  }

  /**
   * Every key, and every channel that somebody listens to. But not a latch that expires: a process
   * that is killed after a release leaves one.
   */
  async everything(): Promise<string[]> {
    const keys = await this.admin.keys('*');
    const lives = await Promise.all(keys.map((key) => this.admin.pttl(key)));
    const left = keys.filter((key, index) => !isLatch(key) || (lives[index] ?? -1) < 0);
    return [...left, ...((await this.admin.pubsub('CHANNELS')) as string[])];
  }

  /** The latches of releases whose end nobody heard. */
  async latches(): Promise<number> {
    return (await this.admin.keys('*')).filter(isLatch).length;
  }

  /** Takes these clients out of the line of a fair lock. @returns how many places they had */
  async leaveLine(lock: string, clients: ReadonlySet<string>): Promise<number> {
    const queue = `redisson_lock_queue:{${lock}}`;
    const channels = `redisson_lock__channel:{${lock}}`;
    const keys = [lock, queue, `redisson_lock_timeout:{${lock}}`, channels];
    const owners = await this.admin.lrange(queue, 0, -1);
    const leaving = owners.filter((owner) => clients.has(owner.replace(/:.*/, '')));
    // The turns of those behind stay as they are: theirs need not have been as long.
    for (const owner of leaving) await runScript(this.admin, leaveScript, keys, [owner, '0', '0']);
    return leaving.length;
  }
}
