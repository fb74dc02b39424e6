/** MySQL refuses a user's orders of a voucher: someone added a constraint by mistake. */
import type { Pool } from '../../../service/connections/mysql.ts';
import type { Lab } from '../../environment/lab.ts';
import { withConnections } from '../../environment/lab-connections.ts';
import type { Fault } from '../fault.ts';

/** A failed order is not refused: it is the record of the refusal. */
export const refuseOrders = (voucherId: string, userId: string): Fault => ({
  name: `refuse the orders of user ${userId} of voucher ${voucherId}`,
  async inject(lab) {
    const name = `refuses_${voucherId}`;
    const others = `voucher_id <> ${voucherId} OR user_id <> ${userId}`;
    const condition = `status = 'failed' OR ${others}`;
    await inMysql(lab, `ALTER TABLE orders ADD CONSTRAINT ${name} CHECK (${condition})`);
    return () => inMysql(lab, `ALTER TABLE orders DROP CONSTRAINT ${name}`);
  },
});

/** MySQL checks every row that is there: of all sales that this lab has ever had. */
const answerMs = 120_000;

function inMysql({ environment }: Lab, statement: string): Promise<void> {
  const patient = { environment: { ...environment, MYSQL_ANSWER_MS: String(answerMs) } };
  return withConnections(patient, async (connections) => {
    const pool: Pool = connections.mysql();
    await pool.query(statement);
  });
}
