/** Those who use a service: an operator and users, with tokens that it reads. */
import { expect, onTestFinished } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { labTokenSecret } from '../../src/service/config.ts';
import { signToken } from '../../src/service/http/tokens.ts';
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

/** What a purchase, a place in a line or an order is answered: the fields that it has. */
interface Fields {
  readonly id?: string;
  readonly status?: string;
  readonly code?: string;
  readonly detail?: string;
  readonly orderId?: string;
  readonly place?: number;
  readonly pass?: string;
  readonly askAgainSeconds?: number;
}

const read = async (answer: Response) => ({
  httpStatus: answer.status,
  location: answer.headers.get('location'),
  retryAfter: answer.headers.get('retry-after'),
  ...((await answer.json()) as Fields),
});

type User = string | number;

/** @param secret signs the tokens of its users: each request has a fresh one. */
export function clientOf(baseUrl: string, secret = deploymentSecret) {
  const get = async (path: string, user: User) =>
    call(path, { token: await tokenFor(String(user), 'user', secret), baseUrl });
  const post = async (path: string, user: User, sent: Pick<Call, 'headers' | 'body'> = {}) =>
    call(path, {
      ...{ method: 'POST', token: await tokenFor(String(user), 'user', secret), baseUrl },
      ...sent,
    });
  const operator = () => tokenFor('1', 'operator', secret);
  return {
    get,
    post,
    /** As an operator. */
    operate: async (method: string, path: string, body?: unknown) =>
      call(path, { method, token: await operator(), body, baseUrl }),
    onSale: async (changes: Readonly<Record<string, unknown>> = {}) =>
      putOnSale(changes, { baseUrl, token: await operator() }),
    buy: async (voucherId: string, user: User, headers: Readonly<Record<string, string>> = {}) =>
      read(await post(`/vouchers/${voucherId}/orders`, user, { headers })),
    /** In the line of a voucher with a waiting room. */
    place: async (voucherId: string, user: User) =>
      read(await post(`/vouchers/${voucherId}/place`, user)),
    /** Until the order at this path is recorded. */
    confirmed: (path: string | null, user: User) =>
      waitUntil('the order to be confirmed', 20_000, async () => {
        const { status } = await read(await get(path ?? '', user));
        return status === 'confirmed';
      }),
  };
}

/** Of the lab, through nginx. */
export const { get, post, operate, buy, place, confirmed } = clientOf(
  ownLab.baseUrl,
  labTokenSecret,
);

export interface Stream {
  readonly answer: Response;
  /** What has arrived. */
  text(): string;
  /** How it ended: in order, or cut off by either side. */
  readonly ended: Promise<'in order' | 'cut off'>;
  /** Closes the connection. */
  leave(): void;
}

export async function openStream(
  orderId: string,
  userId: string,
  { token, baseUrl, headers = {} }: { token?: string; baseUrl?: string; headers?: object } = {},
): Promise<Stream> {
  const client = new AbortController();
  const answer = await fetch(`${baseUrl ?? ownLab.baseUrl}/orders/${orderId}/events`, {
    headers: { authorization: `Bearer ${token ?? (await tokenFor(userId))}`, ...headers },
    signal: client.signal,
  });
  let text = '';
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const part of answer.body ?? []) text += decoder.decode(part, { stream: true });
  };
  const ended = read().then(
    () => 'in order' as const,
    () => 'cut off' as const,
  );
  onTestFinished(() => client.abort());
  return { answer, text: () => text, ended, leave: () => client.abort() };
}

/** The statuses of the events that have arrived. */
export const statuses = ({ text }: Stream): string[] =>
  [...text().matchAll(/^event: status\ndata: (.*)$/gm)].map(
    ([, data = '{}']) => (JSON.parse(data) as { status: string }).status,
  );
export const arrives = (stream: Stream, wanted: readonly string[]) =>
  waitUntil(`the events ${wanted.join(', ')}`, 20_000, () => {
    expect(wanted.slice(0, statuses(stream).length)).toEqual(statuses(stream));
    return statuses(stream).length === wanted.length;
  });
