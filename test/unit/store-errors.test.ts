/** A store that does not answer, told from a fault. */
import { expect, test } from 'vitest';
import { isFull, isStatementRefused } from '../../src/connections/mysql.ts';
import { isStoreUnavailable } from '../../src/connections/store-errors.ts';

const withCode = (code: string) => Object.assign(new Error('no answer'), { code });

/** A container that is not up yet has no name, or its name server says to ask again. */
test.each(['EAI_AGAIN', 'ECONNREFUSED', 'ENOTFOUND', 'PROTOCOL_CONNECTION_LOST'])(
  '%s means that the store does not answer',
  (code) => {
    expect(isStoreUnavailable(withCode(code))).toBe(true);
  },
);

test.each(['ER_ACCESS_DENIED_ERROR', 'ER_DUP_ENTRY', undefined])('%s does not', (code) => {
  expect(isStoreUnavailable(withCode(String(code)))).toBe(false);
});

/**
 * Redis refuses a write for now: a replica that was a master, a master without its replicas, or a
 * node of a cluster that does not have the keys.
 */
test.each([
  ...['READONLY You can', 'NOREPLICAS Not enough', 'MASTERDOWN Link'],
  ...['CLUSTERDOWN Hash slot', 'MOVED 7 h:1', 'ASK 7 h:1', 'TRYAGAIN Multiple keys'],
  'BUSY Redis is busy running a script.',
  ...['OOM command not allowed', 'MISCONF Redis is configured to save'],
  ...["Cluster isn't ready and enableOfflineQueue", 'Failed to refresh slots cache.'],
  'Command aborted due to connection close',
  "Can't add new command when connection is in closed state",
])('so does %s', (text) => {
  expect(isStoreUnavailable(new Error(text))).toBe(true);
});

/** Read-only, or a full disk: MySQL's number says it, and not its words. */
test.each([1021, 1114, 1290, 1836, 1874])(
  'so does error %i of MySQL, and no other statement is tried meanwhile',
  (errno) => {
    const error = Object.assign(new Error('no writes'), { errno, sqlState: 'HY000' });
    expect([isStoreUnavailable(error), isStatementRefused(error)]).toEqual([true, false]);
  },
);

const engineError = (message: string) =>
  Object.assign(new Error(message), { errno: 1030, sqlState: 'HY000' });

test.each([
  "Got error 28 - 'No space left on device' from storage engine",
  'Got error 28 "No space left on device" from storage engine InnoDB',
])('a MySQL or MariaDB whose engine has no space takes no writes: %s', (message) => {
  const error = engineError(message);
  expect([isFull(error), isStoreUnavailable(error), isStatementRefused(error)]).toEqual([
    true,
    true,
    false,
  ]);
});

test('another error of the storage engine is about its statement', () => {
  const error = engineError("Got error 168 - 'Unknown (generic) error from engine'");
  expect([isFull(error), isStatementRefused(error)]).toEqual([false, true]);
});

/** With the SQLSTATE that MySQL or MariaDB sends. */
test.each([
  [1040, '08004'],
  [1047, '08S01'],
  [1203, '42000'],
  [1226, '42000'],
  [1317, '70100'],
  [1461, '42000'],
  [1927, '70100'],
  [9001, 'HY000'],
])('so does error %i: the session is refused, or was killed', (errno, sqlState) => {
  const error = Object.assign(new Error('no session'), { errno, sqlState });
  expect([isStoreUnavailable(error), isStatementRefused(error)]).toEqual([true, false]);
});
