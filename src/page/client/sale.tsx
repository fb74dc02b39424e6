/** A sale that somebody breaks: its servers and what can be done to them, its counts, its locks. */

import { signal } from '@preact/signals';
import type { HandVerb } from '../../lab/by-hand/asked-faults.ts';
import {
  type LockOnServers,
  notRead,
  type PartState,
  type SaleCounts,
} from '../../lab/stage/events.ts';
import type { Bilingual } from '../../lab/stage/result.ts';
import { isBusy, send } from './api.ts';
import { ladderRow } from './built-rows.ts';
import { Button, stepOf } from './controls.tsx';
import {
  brokenNames,
  endedBy,
  type LocksView,
  lockId,
  mayOutlastLease,
  type OfferedVerb,
  offeredVerbs,
  type RunView,
  tiersOf,
} from './run-model.ts';
import { isEnding } from './store.ts';
import { language, page } from './texts.ts';
import type { en } from './texts-en.ts';

const selected = signal('');
/** What the lab has said about the last fault. */
const answer = signal('');

export function Servers({ run, isLive }: { run: RunView; isLive: boolean }) {
  const tiers = tiersOf(run.parts);
  const broken = brokenNames(run);
  const part = run.parts.find(({ name }) => name === selected.value);
  return (
    <section aria-label={page.value.words.servers}>
      <div class="parts" role="toolbar" onKeyDown={(event) => walk(event, tiers)}>
        {tiers.map((tier, index) => (
          <div class="tier" key={index}>
            {tier.map((each) => (
              <Part key={each.name} part={each} faults={faultsOf(each.name, broken)} />
            ))}
          </div>
        ))}
      </div>
      {isLive && part && <Menu part={part} faults={faultsOf(part.name, broken)} />}
    </section>
  );
}

/** A request does not come through, although the server runs. */
const cutsOff = /^(drop|reset|refuse) /;

/** Of a lock on several masters: whether enough of them answer. */
export function Quorum({ run, rung }: { run: RunView; rung: string }) {
  const { lockServers = [], lockNeeded = 0 } = ladderRow(rung) ?? {};
  if (lockServers.length < 2) return null;
  const broken = brokenNames(run);
  const isUp = ({ name, state }: PartState) =>
    state === 'runs' && !faultsOf(name, broken).some((fault) => cutsOff.test(fault));
  const up = run.parts.filter((part) => lockServers.includes(part.name) && isUp(part)).length;
  return (
    <p class={up < lockNeeded ? 'wrong-text' : 'held-text'} data-quorum={up}>
      {page.value.answer(up, lockNeeded, lockServers.length)}
    </p>
  );
}

/** `slow redis-3 by 2000 ms`; `slow database by 2000 ms` */
function faultsOf(name: string, broken: readonly string[]): string[] {
  const names = /^(mariadb|mysql)$/.test(name) ? [name, 'database'] : [name];
  return broken.filter((fault) => fault.split(' ').some((word) => names.includes(word)));
}

function Part({ part: { name, state }, faults }: { part: PartState; faults: readonly string[] }) {
  const { partStates } = page.value;
  const isOdd = state === 'runs' && faults.length > 0;
  const isNow = state === 'stopped' ? endedBy(faults) : state;
  const marks = { runs: isOdd ? '!' : '●', paused: '∥', stopped: '✕' } as const;
  return (
    <Button
      class={`part ${state} ${isOdd ? 'odd' : ''}`}
      data-part={name}
      data-state={isOdd ? 'odd' : state}
      aria-pressed={selected.value === name}
      onClick={() => {
        selected.value = name;
        answer.value = '';
      }}
    >
      {marks[state]} {name}
      <small>{isOdd ? faults.at(-1) : partStates[isNow]}</small>
    </Button>
  );
}

const mending: readonly OfferedVerb[] = ['start', 'resume', 'mend'];

/** What each fault will do stands beside it, before it is pressed. */
function Menu({ part, faults }: { part: PartState; faults: readonly string[] }) {
  const { handVerbs } = page.value;
  return (
    <div class="panel menu" data-menu={part.name}>
      <b>{part.name}</b>
      {offeredVerbs(part, faults.length > 0).map((verb) => (
        <Button
          key={verb}
          class={mending.includes(verb) ? 'next' : 'fault'}
          data-verb={verb}
          disabled={isBusy.value}
          onClick={() => void askForFault(verb === 'mend' ? 'start' : verb, part.name)}
        >
          <b>{handVerbs[verb][0]}</b> <small>{handVerbs[verb][1]}</small>
        </Button>
      ))}
      {answer.value && <p role="status">{answer.value}</p>}
    </div>
  );
}

/** @returns whether it was done; otherwise `problem` says why not */
export async function askForFault(verb: HandVerb, server = ''): Promise<boolean> {
  const said = await send<{ done: Bilingual }>('POST', '/api/faults', { verb, server });
  answer.value = said ? said.done[language.value] : '';
  return said !== null;
}

/** The arrow keys walk the picture. */
function walk(event: KeyboardEvent, tiers: readonly (readonly PartState[])[]): void {
  const step = stepOf(event);
  const at = tiers.findIndex((each) => each.some(({ name }) => name === selected.value));
  const place = tiers[at]?.findIndex(({ name }) => name === selected.value) ?? 0;
  const tier = tiers[at + (step?.[0] ?? 0)];
  const next = tier?.[Math.min(tier.length - 1, Math.max(0, place + (step?.[1] ?? 0)))];
  if (!step || !next || !(event.currentTarget instanceof Element)) return;
  event.preventDefault();
  selected.value = next.name;
  event.currentTarget.querySelector<HTMLElement>(`[data-part="${next.name}"]`)?.focus();
}

/** What cannot be read now is neither none nor good. */
const isRead = (value: number | null | undefined): value is number =>
  value !== null && value !== undefined;
const number = (value: number | null | undefined): string =>
  isRead(value) ? value.toLocaleString('en-US') : notRead;

type Count = readonly [id: keyof typeof en.counts, value: number | null | undefined];

/** Where the accepted orders are, from the sale to MySQL. */
function ordersIn({ accepted, recorded, dead = 0, queue }: SaleCounts): Count[] {
  const waiting = recorded === undefined ? undefined : Math.max(0, accepted - recorded - dead);
  const hasQueue = queue !== undefined;
  return [
    ['accepted', accepted],
    ...(hasQueue ? inQueue(queue) : [['waiting', waiting] as const]),
    ['recorded', recorded],
    ...(hasQueue || dead > 0 ? [['dead', dead] as const] : []),
    ...(hasQueue ? [elsewhere(queue)] : []),
  ];
}

type Queue = Exclude<SaleCounts['queue'], undefined>;

/** Null: its server does not answer. */
function inQueue(queue: Queue): Count[] {
  if (queue === null) return [['queued', null]];
  const { depth, inHand } = queue;
  return [
    ['queued', Math.max(0, depth - (inHand ?? 0))], // Read one after the other.
    ...(inHand === null ? [] : [['in-hand', inHand] as const]),
  ];
}

/** Neither in the queue, as far as it counts, nor in MySQL. */
function elsewhere(queue: Queue): Count {
  const { isInHandUncounted = false, nowhere = null } = queue ?? {};
  return [isInHandUncounted ? 'uncounted' : 'nowhere', nowhere];
}

/** While it sells: what was answered, and where the orders are. */
export function Counts({ run, rung }: { run: RunView; rung: string }) {
  const counts = run.counts[rung];
  if (!counts) return null;
  const names = page.value.counts;
  const { refused, refusedBecause, unknown, twice } = counts;
  const rows: Count[] = [...ordersIn(counts), ['refused', refused], ['unknown', unknown]];
  return (
    <dl class="counts">
      {rows.map(([id, value]) => (
        <div key={id} data-count={id} class={classOf(value, id === 'nowhere' ? '' : undefined)}>
          <dt>{names[id]}</dt>
          <dd>{number(value)}</dd>
        </div>
      ))}
      <div data-count="twice" class={classOf(twice, 'held-text')}>
        <dt>{names.twice}</dt>
        <dd>
          {isRead(twice) && (twice > 0 ? '✗ ' : '✓ ')}
          {number(twice)}
        </dd>
      </div>
      {refused > 0 && <small class="why">{page.value.refusedBecause(refusedBecause)}</small>}
    </dl>
  );
}

/** @param ofNone the class of a count that must be 0; without it, any count is right */
function classOf(value: Count[1], ofNone?: string): string {
  if (!isRead(value)) return 'dim';
  return value > 0 && ofNone !== undefined ? 'wrong-text' : (ofNone ?? '');
}

async function endLoad(): Promise<void> {
  isEnding.value = true;
  isEnding.value = await askForFault('end'); // When it was refused, it can be asked for again.
}

export function EndLoad() {
  const { words } = page.value;
  return (
    <span class="row right">
      <Button data-heal disabled={isBusy.value} onClick={() => void askForFault('heal')}>
        {words.healAll}
      </Button>
      <Button class="next" data-end disabled={isEnding.value} onClick={() => void endLoad()}>
        {words.endLoad}
      </Button>
    </span>
  );
}

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
