/** The load generator of an open model: requests are due at a fixed rate, however slow it is. */

import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';
import { programPath } from '../environment/processes.ts';
import { labError } from '../errors.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const K6Result = z.object({
  answers: z.record(z.string(), z.number()),
  /** Requests that were due and not sent: no virtual user was free. */
  dropped: z.number(),
  /** From the moment at which a request was due. */
  p50Ms: z.number(),
  p99Ms: z.number(),
  mostMs: z.number(),
});
export type K6Result = Readonly<z.output<typeof K6Result>>;

export interface K6Load {
  readonly rate: number;
  readonly seconds: number;
  readonly voucherId: string;
  /** The users are numbered from it, one for each request. */
  readonly firstUser: number;
}

export async function runK6Load(
  baseUrl: string,
  tokenSecret: string,
  { rate, seconds, voucherId, firstUser }: K6Load,
  signal: AbortSignal,
): Promise<K6Result> {
  const env = {
    ...{ K6_NO_USAGE_REPORT: 'true', BASE_URL: baseUrl, TOKEN_SECRET: tokenSecret },
    ...{ RATE: String(rate), SECONDS: String(seconds) },
    ...{ VOUCHER: voucherId, FIRST_USER: String(firstUser) },
  };
  const { stdout } = await execa(k6Path(), ['run', '--quiet', 'bench/saturate.js'], {
    ...{ cwd: root, env, stdin: 'ignore', cancelSignal: signal },
  });
  return K6Result.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

/** Of `npm run setup -- --with-k6`, or on PATH. @throws PROGRAM_MISSING */
function k6Path(): string {
  const own = `${root}.lockstep/bin/k6`;
  try {
    accessSync(own, constants.X_OK);
    return own;
  } catch {
    try {
      return programPath('k6');
    } catch {
      throw labError('PROGRAM_MISSING', 'k6', 'npm run setup -- --with-k6');
    }
  }
}
