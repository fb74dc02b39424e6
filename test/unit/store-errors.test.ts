/** A store that does not answer, told from a fault. */
import { expect, test } from 'vitest';
import { isFull, isStatementRefused } from '../../src/service/connections/mysql.ts';
import { isStoreUnavailable } from '../../src/service/connections/store-errors.ts';

const withCode = (code: string) => Object.assign(new Error('no answer'), { code });
const ofMysql = (errno: number, sqlState: string, message = 'no') =>
  Object.assign(new Error(message), { errno, sqlState });

test.each([
  // A container that is not up yet has no name, or its name server says to ask again.
  ...['EAI_AGAIN', 'ECONNREFUSED', 'ENOTFOUND', 'PROTOCOL_CONNECTION_LOST'].map(withCode),
  // Redis refuses a write for now: a replica that was a master, a master without its replicas, or
  // a node of a cluster that does not have the keys.
  ...[
    ...['READONLY You can', 'NOREPLICAS Not enough', 'MASTERDOWN Link'],
    ...['CLUSTERDOWN Hash slot', 'MOVED 7 h:1', 'ASK 7 h:1', 'TRYAGAIN Multiple keys'],
    'BUSY Redis is busy running a script.',
    ...['OOM command not allowed', 'MISCONF Redis is configured to save'],
    ...["Cluster isn't ready and enableOfflineQueue", 'Failed to refresh slots cache.'],
    'Command aborted due to connection close',
    "Can't add new command when connection is in closed state",
  ].map((text) => new Error(text)),
])('%s means that the store does not answer', (error) => {
  expect(isStoreUnavailable(error)).toBe(true);
});

test.each(['ER_ACCESS_DENIED_ERROR', 'ER_DUP_ENTRY', 'undefined'])('%s does not', (code) => {
  expect(isStoreUnavailable(withCode(code))).toBe(false);
});

test.each([
  // Read-only, or a full disk: MySQL's number says it, and not its words.
  ...[1021, 1114, 1290, 1836, 1874].map((errno) => [errno, 'HY000'] as const),
  // The session is refused, or was killed: with the SQLSTATE that MySQL or MariaDB sends.
  ...([
    [1040, '08004'],
    [1047, '08S01'],
    [1203, '42000'],
    [1226, '42000'],
  ] as const),
  ...([
    [1317, '70100'],
    [1461, '42000'],
    [1927, '70100'],
    [9001, 'HY000'],
  ] as const),
])('so does error %i of MySQL, and no other statement is tried meanwhile', (errno, sqlState) => {
  const error = ofMysql(errno, sqlState);
  expect([isStoreUnavailable(error), isStatementRefused(error)]).toEqual([true, false]);
});

test.each([
  ["Got error 28 - 'No space left on device' from storage engine", true],
  ['Got error 28 "No space left on device" from storage engine InnoDB', true],
  ["Got error 168 - 'Unknown (generic) error from engine'", false],
])('a MySQL or MariaDB whose engine has no space takes no writes: %s', (message, isTrue) => {
  const error = ofMysql(1030, 'HY000', message);
  expect([isFull(error), isStoreUnavailable(error)]).toEqual([isTrue, isTrue]);
  expect(isStatementRefused(error)).toBe(!isTrue); // Another error is about its statement.
});
