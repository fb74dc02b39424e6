/**
 * The OpenAPI document is complete: every answer that a route gives, with any token, with any id,
 * with and without a store, is one that the document lists.
 */
import { expect, test } from 'vitest';
import { openSale, tokenFor } from '../support/client.ts';
import { type Instance, instanceWithout } from '../support/instance.ts';

interface Operation {
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
          const { code } = (await answer.json()) as { code?: string };
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
