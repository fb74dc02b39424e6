/** Users in the line of a sale, over HTTP: each asks for their place until it is their turn. */
import { z } from 'zod';
import { signToken } from '../../service/http/tokens.ts';
import type { Lab } from '../environment/lab.ts';

const Answer = z.object({
  place: z.number(),
  called: z.number(),
  pass: z.string().optional(),
  passUntil: z.string().optional(),
  askAgainSeconds: z.number().default(0),
});

/** An answer about a place. The moments are those of the clock of the tries. */
export interface Look extends Readonly<Omit<z.output<typeof Answer>, 'passUntil'>> {
  readonly userId: string;
  /** When the user first asked for a place: an answer may have been lost. */
  readonly askedAt: bigint;
  readonly answeredAt: bigint;
  /** By the same clock. */
  readonly passUntil?: bigint | undefined;
}

/** @returns null when no answer came, or the service is not ready: ask again. */
export async function lookAtPlace(
  { baseUrl, tokenSecret }: Pick<Lab, 'baseUrl' | 'tokenSecret'>,
  voucherId: string,
  userId: string,
  askedAt: bigint,
): Promise<Look | null> {
  const authorization = `Bearer ${await signToken(tokenSecret, userId, 'user')}`;
  try {
    const url = `${baseUrl}/vouchers/${voucherId}/place`;
    const answer = await fetch(url, { method: 'POST', headers: { authorization } });
    const body: unknown = await answer.json();
    if (!answer.ok) return null;
    const answeredAt = process.hrtime.bigint();
    const { passUntil, ...found } = Answer.parse(body);
    const until = passUntil === undefined ? undefined : answeredAt + leftUntil(passUntil);
    return { userId, askedAt, answeredAt, ...found, passUntil: until };
  } catch {
    return null;
  }
}

const leftUntil = (time: string): bigint => BigInt(Date.parse(time) - Date.now()) * 1_000_000n;
