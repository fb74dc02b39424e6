/** A hash in small parts: HGETALL of a million buyers would stop the Redis that sells. */
import type { Redis } from 'ioredis';

/** What the hash had all the time is in it; what came or went meanwhile may be. */
export async function scanHash(
  redis: Redis,
  key: string,
): Promise<[field: string, value: string][]> {
  const entries = new Map<string, string>();
  let cursor = '0';
  do {
    const [next, part] = await redis.hscan(key, cursor, 'COUNT', 1_000);
    for (let index = 0; index < part.length; index += 2)
      entries.set(part[index] ?? '', part[index + 1] ?? '');
    cursor = next;
  } while (cursor !== '0');
  return [...entries];
}
