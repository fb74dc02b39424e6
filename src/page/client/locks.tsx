/** The locks of a sale: a lane for each lock server, and how much of each lease is left. */
import { type LockOnServers, notRead } from '../../lab/stage/events.ts';
import { ladderRow } from './ladder-rows.ts';
import { type LocksView, lockId, mayOutlastLease, type RunView } from './run-model.ts';
import { page } from './texts.ts';

const barWidth = 90;

export function Locks({ run, rung }: { run: RunView; rung: string }) {
  const { lockServers = [], lockNeeded = 0 } = ladderRow(rung) ?? {};
  const view = run.locks[rung];
  if (!view) return null;
  return (
    <section class="locks" aria-label={page.value.words.locksNow}>
      <Inside view={view} />
      {view.unread.length > 0 && (
        <p class="dim" data-unread>
          {page.value.notRead(view.unread)}
        </p>
      )}
      {view.locks.length > 0 && (
        <table class="rungs">
          <thead>
            <tr>
              <th>{page.value.words.locksNow}</th>
              {lockServers.map((name) => (
                <th key={name}>{name}</th>
              ))}
              {lockServers.length > 1 && <th>{page.value.words.owned}</th>}
            </tr>
          </thead>
          <tbody>
            {view.locks.map((lock) => (
              <Lock key={lockId(lock)} {...{ lock, view, lockServers, lockNeeded }} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const secondsOf = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Before anything breaks: a lease that the work inside may outlast. */
function Inside({ view }: { view: LocksView }) {
  const { p99Ms, leaseMs } = view;
  if (p99Ms === null) return null;
  const { insideFor, leaseEndsInside } = page.value;
  const isUnsafe = mayOutlastLease(view);
  return (
    <p class={isUnsafe ? 'wrong-text' : 'dim'} data-inside={isUnsafe ? 'unsafe' : 'safe'}>
      {isUnsafe
        ? `! ${leaseEndsInside(secondsOf(leaseMs), secondsOf(p99Ms))}`
        : insideFor(p99Ms < 1_000 ? `${Math.round(p99Ms)} ms` : secondsOf(p99Ms))}
    </p>
  );
}

interface LockRow {
  readonly lock: LockOnServers;
  readonly view: LocksView;
  readonly lockServers: readonly string[];
  readonly lockNeeded: number;
}

function Lock({ lock, view, lockServers, lockNeeded }: LockRow) {
  const have = lockServers.filter((name) => lock.leftOn[name] !== undefined).length;
  const isUnread = (name: string) => lock.leftOn[name] === undefined && view.unread.includes(name);
  const [mark, kind] = markOf(have, lockNeeded, lockServers.filter(isUnread).length);
  const times = view.renewed.get(lockId(lock)) ?? 0;
  const { renewed } = page.value;
  return (
    <tr data-lock={lock.resource}>
      <td>
        {lock.resource.replace(/^voucher:\d+:/, '')} <small>{lock.owner}</small>{' '}
        {times > 0 && <small>{renewed(times)}</small>}
      </td>
      {lockServers.map((name) => (
        <td key={name}>
          {name === 'zookeeper' ? (
            <small>{page.value.words.withSession}</small>
          ) : isUnread(name) ? (
            <span class="dim">{notRead}</span>
          ) : (
            <Left leftMs={lock.leftOn[name]} leaseMs={view.leaseMs} />
          )}
        </td>
      ))}
      {lockServers.length > 1 && (
        <td class={kind}>
          {mark} {have}/{lockServers.length}
        </td>
      )}
    </tr>
  );
}

/** Those that cannot be read may have it, too. */
function markOf(have: number, needed: number, unread: number): [mark: string, kind: string] {
  if (have >= needed) return ['✓', 'held-text'];
  return have + unread >= needed ? [notRead, 'dim'] : ['✗', 'wrong-text'];
}

/** Undefined: this server does not have it. */
function Left({ leftMs, leaseMs }: { leftMs: number | null | undefined; leaseMs: number }) {
  if (leftMs === undefined) return <span class="dim">–</span>;
  if (leftMs === null) return <b class="wrong-text">∞</b>;
  return (
    <>
      <svg class="left" width={barWidth} height="12" aria-hidden="true">
        <rect width={barWidth} height="12" class="whole" />
        <rect width={(barWidth * leftMs) / Math.max(1, leaseMs)} height="12" />
      </svg>{' '}
      <small>{secondsOf(leftMs)}</small>
    </>
  );
}
