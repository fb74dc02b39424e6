/** What a program asks of a lock. A mistake in it must not look like a lock server that is away. */
import { OptionInvalid } from '../../errors.ts';
import type { AcquireOptions, RedisLockOptions } from '../lock.ts';

const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;

/**
 * Every time in the options of a lock.
 * @throws OptionInvalid
 */
export function checkOptions<Options extends object>(options: Options): Options {
  const { keyPrefix }: Pick<RedisLockOptions, 'keyPrefix'> = options;
  if (keyPrefix !== undefined && typeof keyPrefix !== 'string')
    throw new OptionInvalid('keyPrefix', keyPrefix, 'a text');
  for (const [name, value] of Object.entries(options))
    if (name.endsWith('Ms') && value !== undefined && !isWhole(value))
      throw new OptionInvalid(name, value, 'a whole number from 1');
  return options;
}

/** @throws OptionInvalid */
export function checkRequest(resource: string, options: AcquireOptions | undefined): void {
  if (typeof resource !== 'string') throw new OptionInvalid('the resource', resource, 'a text');
  const { waitMs, ...lease } = options ?? {};
  if (!(typeof waitMs === 'number' && waitMs >= 0))
    throw new OptionInvalid('waitMs', waitMs, '0 or more milliseconds');
  checkOptions(lease);
}

/** @throws OptionInvalid */
export function checkMasters(masters: readonly unknown[]): void {
  if (masters.length === 0)
    throw new OptionInvalid('the number of masters', 0, 'at least 1: nothing would be locked');
}
