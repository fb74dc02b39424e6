/** `lua-buckets` on a Redis Cluster of three masters: every script stays in one slot. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { collectFacts } from '../../src/service/audit/collect.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { testConnections } from '../support/connections.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { someOrder, someVoucher, workUntilEmpty } from '../support/sale.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster?.stop());

const stock = 12;
const lab = { rails: true, workMs: 0, retries: 0 };

test('a voucher sells from three masters, and no bucket lies while one of them is away', async () => {
  const connections = testConnections({
    ...{ REDIS_URL: cluster.url, REDIS_CLUSTER: '1', SALE_SHARDS: '4', VOUCHER_BUCKETS: '4' },
    ...{ CLAIM_IDLE_MS: '200', BATCH_GATHER_MS: '0', PURCHASE_ANSWER_MS: '600' },
  });
  const { inventory, purchase } = await openRung('lua-buckets', connections, {
    onReleaseFailed: () => {},
  });
  const voucher = await someVoucher(connections, { stock, lab, rung: 'lua-buckets' });
  await inventory.prepare(voucher);
  const { bucketsOf, bucketOf } = connections.saleKeys;
  const buckets = bucketsOf(voucher.id, voucher.buckets);
  const owners = await Promise.all(buckets.map(({ orders }) => cluster.ownerOf(orders)));
  expect(new Set(owners).size).toBeGreaterThan(1);
  const [away] = owners as [(typeof owners)[number]];
  const here = buckets.filter((_, index) => owners[index] !== away);
  const users = Array.from({ length: 400 }, (_, index) => String(index + 1));
  const usersOf = (bucket: ShardKeys) =>
    users.filter((user) => bucketOf(voucher.id, user, voucher.buckets) === bucket);
  const buy = async (user: string) => {
    const outcome = await purchase(someOrder(voucher.id, user, `of-${user}`), voucher);
    return outcome.kind === 'refused' ? outcome.reason : outcome.kind;
  };

  await away.kill();
  // All are users of one bucket: it borrows from the others that answer.
  const [bucket] = here as [ShardKeys];
  const left = 3 * here.length;
  const buyers = usersOf(bucket).slice(0, left + 1);
  const answers: string[] = [];
  for (const user of buyers) answers.push(await buy(user));
  expect(answers).toEqual([...Array<string>(left).fill('accepted'), 'not-ready']);

  await away.start();
  const last = buyers.at(-1) ?? '';
  await waitUntil('the master', 20_000, async () => (await buy(last)) === 'accepted');
  const others = usersOf(bucket).slice(left + 1, left + 1 + stock - left);
  const rest: string[] = [];
  for (const user of others) rest.push(await buy(user));
  expect(rest).toEqual([...Array<string>(stock - left - 1).fill('accepted'), 'sold-out']);
  await workUntilEmpty(connections);
  expect(await collectFacts(connections, voucher.id)).toMatchObject({
    ...{ redis: { stock: 0, queued: [] }, mysql: { stock: 0 } },
  });
  expect(await reconcile(connections, voucher.id)).toMatchObject({
    verdict: 'consistent',
    vouchers: [{ stock: 0, recorded: stock, buyers: stock }],
  });
});
