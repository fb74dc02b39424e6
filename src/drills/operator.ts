/** What a drill does as an operator, over HTTP like everybody else. */
import { z } from 'zod';
import { ServiceRefused } from '../errors.ts';
import { signToken } from '../http/tokens.ts';

export interface SaleRequest {
  readonly title: string;
  readonly stock: number;
  readonly rung: string;
  readonly workMs: number;
  readonly retries?: number;
}

const Created = z.object({ id: z.string() });
const hourMs = 3_600_000;

/**
 * @returns the id of a voucher whose sale is open, and which every instance knows.
 * @throws ServiceRefused
 */
export async function putOnSale(
  baseUrl: string,
  tokenSecret: string,
  instances: number,
  sale: SaleRequest,
): Promise<string> {
  const voucherId = await createVoucher(baseUrl, tokenSecret, sale);
  await warmUp(baseUrl, voucherId, instances);
  return voucherId;
}

async function createVoucher(baseUrl: string, tokenSecret: string, sale: SaleRequest): Promise<string> {
  const token = await signToken(tokenSecret, '1', 'operator');
  const [beginTime, endTime] = [-hourMs, hourMs].map((fromNow) =>
    new Date(Date.now() + fromNow).toISOString(),
  );
  const answer = await fetch(`${baseUrl}/vouchers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...sale, beginTime, endTime }),
  });
  if (!answer.ok) throw new ServiceRefused('creating a voucher', answer.status, await answer.text());
  return Created.parse(await answer.json()).id;
}

/** Lets every instance read the voucher and open its rung. */
async function warmUp(baseUrl: string, voucherId: string, instances: number): Promise<void> {
  const looks = Array.from({ length: instances * 8 }, () => fetch(`${baseUrl}/vouchers/${voucherId}`));
  for (const answer of await Promise.all(looks)) {
    if (!answer.ok) throw new ServiceRefused('looking at the voucher', answer.status, await answer.text());
    await answer.arrayBuffer();
  }
}
