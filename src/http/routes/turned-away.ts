/** The answers to purchases that are not begun, counted. */
import type { Context } from 'hono';
import { countTurnedAway, type TurnedAway } from '../../metrics/purchases.ts';
import { problem } from '../problems.ts';

/** Headers: draft-ietf-httpapi-ratelimit-headers. */
export function tooManyTries(c: Context, tries: number, ms: number) {
  c.header('RateLimit-Policy', `"user";q=${tries};w=1`);
  c.header('RateLimit', `"user";r=0;t=${Math.ceil(ms / 1_000)}`);
  return turnedAway(c, 'too-many-requests');
}

export function turnedAway<Code extends TurnedAway>(c: Context, code: Code, detail?: string) {
  countTurnedAway(code);
  return problem(c, code, detail);
}
