/** A hash in small parts: HGETALL of a million buyers would stop the Redis that sells. */
import type { Redis } from 'ioredis';

/**
 * What the hash had all the time is in it; what came or went meanwhile may be.
 * @param isKept of a hash that does not fit in memory, a part.
 */
export async function scanHash(
  redis: Redis,
  key: string,
  isKept: (field: string, value: string) => boolean = () => true,
): Promise<[field: string, value: string][]> {
  const entries = new Map<string, string>();
  let cursor = '0';
  do {
    const [next, part] = await redis.hscan(key, cursor, 'COUNT', 1_000);
    for (let index = 0; index < part.length; index += 2) {
      const [field = '', value = ''] = part.slice(index, index + 2);
      if (isKept(field, value)) entries.set(field, value);
    }
    cursor = next;
  } while (cursor !== '0');
  return [...entries];
}
