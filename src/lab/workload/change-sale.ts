/** Changes a sale as an operator does: over HTTP. */
import { signToken } from '../../service/http/tokens.ts';
import type { VoucherEdit } from '../../service/orders/voucher-changes.ts';
import type { Lab } from '../environment/lab.ts';

/** 0: no answer came. */
export type ChangeStatus = number;

/** Once, whatever the answer is. */
export async function changeOnce(
  { baseUrl, tokenSecret }: Pick<Lab, 'baseUrl' | 'tokenSecret'>,
  voucherId: string,
  edit: VoucherEdit,
  headers: Readonly<Record<string, string>> = {},
): Promise<ChangeStatus> {
  const token = await signToken(tokenSecret, '1', 'operator');
  try {
    const answer = await fetch(`${baseUrl}/vouchers/${voucherId}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(edit),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** It may have begun, or nothing may have happened: the same change is asked for again. */
export const isChangeFinal = (status: ChangeStatus): boolean => status !== 0 && status < 500;
