/** Lua scripts: source files in lua/, called by digest, sent in full when Redis has no copy yet. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Redis, ReplyError } from 'ioredis';

export interface Script {
  readonly name: string;
  readonly source: string;
  readonly digest: string;
}

export function loadScript(name: string): Script {
  const source = readFileSync(new URL(`../../../lua/${name}.lua`, import.meta.url), 'utf8');
  return { name, source, digest: createHash('sha1').update(source).digest('hex') };
}

/**
 * Keys and arguments must be strings: ioredis flattens an array, which shifts all later arguments.
 */
export async function runScript(
  redis: Redis,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  try {
    return await redis.evalsha(script.digest, keys.length, ...keys, ...args);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return redis.eval(script.source, keys.length, ...keys, ...args);
  }
}

/** NOSCRIPT, the first word of the answer, is Redis's error code: nothing ran. */
function isUnknownScript(error: unknown): boolean {
  return error instanceof ReplyError && (error as Error).message.startsWith('NOSCRIPT');
}
