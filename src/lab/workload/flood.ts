/** A flood from one address: each connection sends the next request when it has an answer. */
import { once } from 'node:events';
import type { AddressLimits } from '../environment/servers/service.ts';
import { codeOf, LightConnections, requestText } from './light-connections.ts';

export interface FloodRequest {
  readonly name: string;
  readonly inChinese: string;
  readonly method: string;
  /** `%d`: a number that grows. */
  readonly path: string;
}

/** What anybody may ask for, and what nobody may. */
export const floodRequests: readonly FloodRequest[] = [
  { name: 'the list of vouchers', inChinese: '券的列表', method: 'GET', path: '/vouchers' },
  {
    name: 'vouchers that do not exist',
    inChinese: '不存在的券',
    method: 'GET',
    path: '/vouchers/%d',
  },
  { name: 'readiness', inChinese: '就绪检查', method: 'GET', path: '/readyz' },
  {
    name: 'purchases with a forged token',
    inChinese: '伪造令牌的下单',
    method: 'POST',
    path: '/vouchers/1/orders',
  },
];

/** Of one attacker. */
export const floodConnections = 32;

/** As docs/deployment.md gives them to a deployment. */
export const deploymentLimits: AddressLimits = {
  LIMIT_BY: '$remote_network',
  LIMIT_RATE: '200r/s',
  LIMIT_BURST: '400',
  LIMIT_CONNECTIONS: '400',
};

/** This machine too, and nobody else's. */
const attacker = '127.9.9.9';

/**
 * Until it aborts.
 * @param answers how many had each code, or status; it grows.
 */
export async function flood(
  baseUrl: string,
  { method, path }: FloodRequest,
  signal: AbortSignal,
  answers: Record<string, number> = {},
): Promise<Record<string, number>> {
  const options = { count: floodConnections, addressOf: () => attacker };
  const headers = { Authorization: `Bearer e30.e30.${'A'.repeat(43)}` };
  await LightConnections.use(baseUrl, options, signal, async (connections, ended) => {
    let next = 1_000_000;
    const ask = () => {
      const text = requestText(method, path.replace('%d', String(next++)), headers);
      connections.ask(text, (answer) => {
        const code = codeOf(answer);
        answers[code] = (answers[code] ?? 0) + 1;
        if (!ended.aborted) ask();
      });
    };
    for (let connection = 0; connection < floodConnections; connection++) ask();
    if (!ended.aborted) await once(ended, 'abort');
  });
  return answers;
}
