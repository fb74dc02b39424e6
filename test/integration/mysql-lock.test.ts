import { expect, test } from 'vitest';
import { withMysqlLock } from '../../src/service/connections/mysql-lock.ts';
import { ownLab } from '../support/own-lab.ts';

const url = () => ownLab.environment['MYSQL_URL'] ?? '';
const lock = (work: () => Promise<string>) => withMysqlLock(url(), 'lockstep-test', work);

test('a lock of MySQL is free once its work is over, also when that failed', async () => {
  for (let time = 0; time < 100; time++) {
    expect(await lock(async () => 'done'), `time ${time}`).toBe('done');
    const failing = lock(() => Promise.reject(new Error('killed')));
    await expect(failing, `time ${time}`).rejects.toThrow('killed');
  }
});

test('a lock of MySQL is refused while another connection has it', async () => {
  expect(await lock(async () => `inside: ${await lock(async () => 'done')}`)).toBe(
    'inside: undefined',
  );
});
