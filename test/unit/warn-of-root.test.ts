/** A service that strangers can reach, and that runs as root. */
import { expect, test, vi } from 'vitest';
import { warnOfRoot } from '../../src/service/processes/open-process.ts';
import { listeningLog } from '../support/basics.ts';

function warnings(HOST: string, user: number): string[] {
  const { log, events } = listeningLog();
  const getuid = vi.spyOn(process, 'getuid').mockReturnValue(user);
  warnOfRoot({ HOST }, log);
  getuid.mockRestore();
  return events;
}

test.each(['0.0.0.0', '::', '192.0.2.7'])('is warned of on %s', (host) => {
  expect(warnings(host, 0)).toEqual(['root-can-be-reached']);
});

test.each([
  ['127.0.0.1', 0],
  ['::1', 0],
  ['localhost', 0],
  ['0.0.0.0', 1000],
])('is not warned of on %s as user %d', (host, user) => {
  expect(warnings(host, user)).toEqual([]);
});
