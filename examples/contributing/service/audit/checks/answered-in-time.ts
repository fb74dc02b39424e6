/** Every request is answered within ten seconds. */
import { type Check, needsAttempts, outcomes } from '../check.ts';

const mostMs = 10_000;

export const answeredInTime: Check = {
  name: 'answered-in-time',
  skip: needsAttempts,
  cases: ({ attempts = [] }) =>
    attempts
      .filter(({ latencyMs }) => latencyMs > mostMs)
      .map(({ userId, latencyMs, orderId }) => ({
        evidence: ['answered-late', userId, Math.round(latencyMs)],
        severity: latencyMs,
        orders: orderId === undefined ? [] : [orderId],
      })),
  evidence: outcomes,
};
