/** What a fault put aside: it is a server's data again when the lab stops, also after a crash. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { forgetKept, keepCopy, putAside } from '../../src/lab/environment/data-folder.ts';
import { Lab } from '../../src/lab/environment/lab.ts';
import { someFolder } from '../support/folder.ts';

const faults = { 'put aside': putAside, copied: keepCopy };

describe.each(Object.entries(faults))('data that a fault has %s', (_, breakData) => {
  test('is the data of the server again once the lab is stopped', async () => {
    const lab = someFolder();
    const data = join(lab, 'redis-1');
    mkdirSync(data);
    writeFileSync(join(data, 'orders'), 'before the fault');
    breakData(data);
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'orders'), 'after the fault');
    await Lab.stop(lab);
    expect(readFileSync(join(data, 'orders'), 'utf8')).toBe('before the fault');
    expect(existsSync(`${data}.kept`)).toBe(false);
  });

  test('is not given back once the server has newer data that are right', async () => {
    const lab = someFolder();
    const data = join(lab, 'redis-main');
    mkdirSync(data);
    breakData(data);
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'orders'), 'rebuilt');
    forgetKept(data);
    await Lab.stop(lab);
    expect(readFileSync(join(data, 'orders'), 'utf8')).toBe('rebuilt');
  });
});
