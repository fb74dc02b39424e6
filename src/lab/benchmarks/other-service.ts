/** Another service that sells: its address, what proves that it sold, what counts its orders. */

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import mysql from 'mysql2/promise';
import { z } from 'zod';
import { LockstepError } from '../../service/errors.ts';
import { labError } from '../errors.ts';
import { cpuRoles, type RoleProcess } from './cpu-by-role.ts';
import type { Tokens } from './wrk.ts';

const pids = z.array(z.number().int().positive());
const Description = z.strictObject({
  /** As long as a column of the table may be. */
  name: z.string().min(1).max(16),
  /** Each POST to it is a purchase. */
  url: z.url(),
  /** A file beside the description. Each line is the Authorization header of another user. */
  tokens: z.string(),
  /** What the body of a purchase that sold contains. Without it, the status alone decides. */
  sold: z.string().min(1).optional(),
  /** A query with one row and the column `count`: the orders that its database has. */
  count: z.strictObject({ database: z.url(), query: z.string() }).optional(),
  /** For the CPU time of a request; without it there is none. */
  processes: z.partialRecord(z.enum(cpuRoles), pids).default({}),
});

type Description = Readonly<z.output<typeof Description>>;

export interface OtherService extends Omit<Description, 'tokens' | 'processes'> {
  readonly tokens: Tokens;
  readonly processes: readonly RoleProcess[];
}

/** @throws OTHER_SERVICE_INVALID */
export function readOtherService(file: string): OtherService {
  try {
    const { tokens, processes, ...service } = Description.parse(
      JSON.parse(readFileSync(file, 'utf8')),
    );
    return {
      ...service,
      tokens: tokensIn(resolve(dirname(file), tokens)),
      processes: cpuRoles.flatMap((role) => (processes[role] ?? []).map((pid) => ({ role, pid }))),
    };
  } catch (error) {
    if (error instanceof LockstepError) throw error;
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw labError('OTHER_SERVICE_INVALID', file, reason);
  }
}

function tokensIn(file: string): Tokens {
  const count = readFileSync(file, 'utf8').split('\n').filter(Boolean).length;
  if (count === 0) throw labError('OTHER_SERVICE_INVALID', file, 'it has no token');
  return { file, count, next: 0 };
}

/** Opens what counts its orders, if it has something. */
export async function withCounter<T>(
  { count }: Pick<OtherService, 'count'>,
  work: (orders: (() => Promise<number>) | null) => Promise<T>,
): Promise<T> {
  if (!count) return work(null);
  const connection = await mysql.createConnection({ uri: count.database });
  try {
    return await work(async () => {
      const [rows] = await connection.query<mysql.RowDataPacket[]>(count.query);
      return z.coerce.number().parse(rows[0]?.['count']);
    });
  } finally {
    await connection.end();
  }
}
