/**
 * The OpenAPI document is complete: every answer that a route gives, with any token, with any id,
 * with and without a store, is one that the document lists.
 */
import { expect, test, vi } from 'vitest';
import { deploymentSecret, openSale, tokenFor } from '../support/client.ts';
import { testConnections } from '../support/connections.ts';
import { type Instance, instanceWithout, openInstance } from '../support/instance.ts';

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: { readonly pattern?: string };
  }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const tokens = async (): Promise<(string | null)[]> => [
  null,
  'nonsense',
  await tokenFor('7'),
  await tokenFor('9'),
  await tokenFor('1', 'operator'),
];
const keys = ['once', 'not a key'];
const bodies: readonly [type: string, body: string][] = [
  ['application/json', JSON.stringify(openSale())],
  ['application/json', JSON.stringify(openSale({ stock: -1 }))],
  ['application/json', '{'],
  ['application/json', JSON.stringify(openSale({ title: 'x'.repeat(20_000) }))],
  ['text/plain', 'hello'],
];

/** Every combination of id, token and body for one route. */
async function attempts(
  { known, cold, order, recorded }: Instance,
  template: string,
  method: string,
  { requestBody }: Operation,
): Promise<Attempt[]> {
  const ids = [known, cold, order, recorded, '999999999999', '007'];
  const paths = template.includes('{id}')
    ? ids.map((id) => template.replace('{id}', id))
    : [template];
  const contents = requestBody ? bodies : [undefined];
  const each = [];
  for (const path of paths)
    for (const token of await tokens())
      for (const key of keys)
        for (const content of contents) {
          const headers = {
            ...(token !== null && { authorization: `Bearer ${token}` }),
            ...(content && { 'content-type': content[0] }),
            'idempotency-key': key,
          };
          each.push({
            method: method.toUpperCase(),
            path,
            headers,
            ...(content && { body: content[1] }),
          });
        }
  return each;
}

/** A stream may stay open: it is left. */
async function problemIn(answer: Response): Promise<{ code?: string }> {
  if (answer.headers.get('content-type')?.includes('json') ?? false)
    return (await answer.json()) as { code?: string };
  await answer.body?.cancel();
  return {};
}

test.each(['nothing', 'MySQL', 'Redis'] as const)(
  'every answer is in the OpenAPI document, without %s',
  async (store) => {
    const instance = await instanceWithout(store);
    const document = await (await instance.app.request('/openapi.json')).json();
    const seen = new Set<string>();
    for (const [template, operations] of Object.entries((document as { paths: Paths }).paths))
      for (const [method, operation] of Object.entries(operations))
        for (const { path, ...init } of await attempts(instance, template, method, operation)) {
          const answer = await instance.app.request(path, init);
          const { code } = await problemIn(answer);
          const listed = operation.responses[answer.status]?.description.split(', ') ?? [];
          const request = `${method} ${template} ${answer.status} ${code ?? ''}`;
          seen.add(request);
          if (code === undefined)
            expect(operation.responses, request).toHaveProperty(String(answer.status));
          else expect(listed, request).toContain(code);
          expect(answer.status, request).not.toBe(500);
        }
    expect(seen).toContain('get /orders/{id} 403 forbidden');
    expect(seen.size).toBeGreaterThan(25);
  },
);

test.each([
  ['0', false],
  ['1', true],
])('with LAB=%s, the document offers lab options: %s', async (LAB, isOffered) => {
  const production = LAB === '0' ? { TOKEN_SECRET: deploymentSecret } : {};
  const connections = testConnections({ LAB, ...production });
  const { app } = await openInstance(connections);
  const text = await (await app.request('/openapi.json')).text();
  expect(text).toContain('"NewVoucher"');
  expect(text.includes('LabOptions') || text.includes('"lab"')).toBe(isOffered);
  const token = await tokenFor('1', 'operator', connections.config.TOKEN_SECRET);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify(openSale({ lab: { workMs: 1 } }));
  const answer = await app.request('/vouchers', { method: 'POST', headers, body });
  expect(answer.status).toBe(isOffered ? 201 : 400);
});

test('the document is made once for all requests', async () => {
  const { app } = await instanceWithout('nothing');
  const make = vi.spyOn(app, 'getOpenAPI31Document');
  const read = async () => (await app.request('/openapi.json')).text();
  expect(await read()).toBe(await read());
  expect(make).toHaveBeenCalledTimes(1);
});

test('a purchase takes the ids and keys that the document describes, and no others', async () => {
  const { app } = await instanceWithout('nothing');
  const document = (await (await app.request('/openapi.json')).json()) as { paths: Paths };
  const parameters = document.paths['/vouchers/{id}/orders']?.['post']?.parameters ?? [];
  const patternOf = (wanted: string, place: string) => {
    const found = parameters.find(({ name, in: where }) => name === wanted && where === place);
    return new RegExp(found?.schema.pattern ?? 'missing');
  };
  const isRefused = async (id: string, key: string) => {
    const headers = { authorization: `Bearer ${await tokenFor('7')}`, 'idempotency-key': key };
    const answer = await app.request(`/vouchers/${id}/orders`, { method: 'POST', headers });
    return answer.status === 400;
  };
  const ids = ['7', '0', '007', '-7', '1.0', '%207', '7%0A', '1234567890123456789', '1'.repeat(20)];
  for (const id of ids)
    expect(await isRefused(id, 'once'), id).toBe(
      !patternOf('id', 'path').test(decodeURIComponent(id)),
    );
  expect(await isRefused('9223372036854775808', 'once')).toBe(true); // 2^63: no pattern can say it.
  const odd = ['a b', 'ä', '"a', 'a"', '""', 'a\\b', ''];
  for (const key of ['a', '"a"', 'a:b', 'x'.repeat(255), 'x'.repeat(256), ...odd])
    expect(await isRefused('7', key), key).toBe(!patternOf('Idempotency-Key', 'header').test(key));
});
