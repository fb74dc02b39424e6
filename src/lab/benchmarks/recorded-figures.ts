/** The figures of an earlier run of `bench`: the file `bench.json` in its folder. */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { labError } from '../errors.ts';
import type { RecordedFigures } from './targets.ts';

const Recorded = z.object({
  targets: z.array(
    z.object({
      name: z.string(),
      measured: z.object({ median: z.number(), least: z.number(), most: z.number() }).nullable(),
    }),
  ),
});

/** @throws NO_RECORDED_BENCH */
export function readRecordedFigures(file: string): RecordedFigures {
  try {
    const { targets } = Recorded.parse(JSON.parse(readFileSync(file, 'utf8')));
    return new Map(targets.flatMap(({ name, measured }) => (measured ? [[name, measured]] : [])));
  } catch (cause) {
    throw labError('NO_RECORDED_BENCH', file).causedBy(cause);
  }
}
