/** Lua scripts: source files in lua/, called by digest, sent whole only when Redis does not know them yet. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Redis, ReplyError } from 'ioredis';

export interface Script {
  readonly name: string;
  readonly source: string;
  readonly digest: string;
}

export function loadScript(name: string): Script {
  const source = readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
  return { name, source, digest: createHash('sha1').update(source).digest('hex') };
}

/** Keys and arguments are strings only: ioredis would flatten an array and shift the arguments behind it. */
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

/** NOSCRIPT is Redis's error code (its first word), and means that nothing ran. */
function isUnknownScript(error: unknown): boolean {
  return error instanceof ReplyError && (error as Error).message.startsWith('NOSCRIPT');
}
