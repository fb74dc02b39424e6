/** A client of the lab: through nginx, with tokens as the lab signs them. */
import { labTokenSecret } from '../../src/config.ts';
import { signToken } from '../../src/http/tokens.ts';
import { ownLab } from './own-lab.ts';

/** The secret of a deployment: the lab's own is published, and refused outside the lab. */
export const deploymentSecret = 'a secret that only this deployment and its issuer know';

export const tokenFor = (
  sub: string,
  role: 'user' | 'operator' = 'user',
  secret: string = labTokenSecret,
) => signToken(secret, sub, role);

export interface Call {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly baseUrl?: string;
}

export function call(
  path: string,
  { method = 'GET', token, headers, body, baseUrl }: Call = {},
): Promise<Response> {
  const init: RequestInit = {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  };
  if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${baseUrl ?? ownLab.baseUrl}${path}`, init);
}

const hourMs = 3_600_000;
const at = (fromNowMs: number) => new Date(Date.now() + fromNowMs).toISOString();

export const openSale = (changes: Readonly<Record<string, unknown>> = {}) => ({
  title: 'test',
  stock: 5,
  beginTime: at(-hourMs),
  endTime: at(hourMs),
  ...changes,
});

/** @param at another service than the lab's, with a token of its operator */
export async function putOnSale(
  changes: Readonly<Record<string, unknown>> = {},
  at: Pick<Call, 'baseUrl' | 'token'> = {},
): Promise<string> {
  const token = await tokenFor('1', 'operator');
  const answer = await call('/vouchers', { method: 'POST', token, ...at, body: openSale(changes) });
  const { id } = (await answer.json()) as { id?: string };
  if (id === undefined) throw new Error(`the voucher was not created: status ${answer.status}`);
  return id;
}

export async function buy(
  voucherId: string,
  userId: string,
  headers: Readonly<Record<string, string>> = {},
  baseUrl = ownLab.baseUrl,
) {
  const request = { method: 'POST', token: await tokenFor(userId), headers, baseUrl };
  const answer = await call(`/vouchers/${voucherId}/orders`, request);
  const body = (await answer.json()) as {
    id?: string;
    status?: string;
    code?: string;
    orderId?: string;
  };
  return {
    status: answer.status,
    location: answer.headers.get('location'),
    ...body,
    httpStatus: answer.status,
  };
}
