/**
 * The data of the tests' servers is in memory where there is room. A disk that is shared takes
 * seconds for a sync at times, and a test would take that for a server that is away.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
/** The servers of a test run take about one. A container has 64 MiB by default. */
const bytesMin = 4 * 2 ** 30;

/** By its size, and not by what is free: every process of a run must say the same. */
export const isInMemory = existsSync(memory) && sizeOf(memory) >= bytesMin;
const home = isInMemory ? memory : tmpdir();

function sizeOf(folder: string): number {
  const { blocks, bsize } = statfsSync(folder);
  return blocks * bsize;
}

/** A new folder for servers of a test's own, which removes it. */
export const newDataFolder = (): string => mkdtempSync(join(home, 'lockstep-test-'));

/** Of the checkout `root`; the same in every process and in every run. */
export const labHome = (root: string): string =>
  isInMemory ? join(memory, `lockstep-${nameOf(root)}`) : join(root, '.lockstep');

const nameOf = (root: string): string =>
  createHash('sha256').update(root).digest('hex').slice(0, 12);
