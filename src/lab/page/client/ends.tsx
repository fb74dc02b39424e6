/** The ends of the lanes: what each can do next, and what can be broken. */
import { ladderRow } from './ladder-rows.ts';
import { isDone, type LaneView, type PlayView } from './model.ts';
import { choose } from './store.ts';
import { page } from './texts.ts';

/** At the end of each lane: what it will do next, or why it cannot go. */
export function Ends({ of }: { of: PlayView }) {
  const lanes = [...of.lanes.values()];
  return (
    <div class="thumb">
      <div class={`ends of-${lanes.length}`}>
        {lanes.map((lane) => (
          <End key={lane.name} lane={lane} of={of} />
        ))}
      </div>
      <Faults of={of} />
    </div>
  );
}

/** What can be broken at this moment, each with its letters. */
function faultsOf({ lanes, readings, rung }: PlayView): [choice: string, text: string][] {
  const { kill, pause, resume, endLease, stop, start } = page.value;
  const standing = [...lanes.values()].filter(({ state }) => state === 'at');
  const paused = [...lanes.values()].filter(({ state }) => state === 'paused');
  const leases = readings.filter(({ id, leftMs }) => id === 'key' && leftMs !== undefined);
  const owners = new Set(leases.flatMap(({ lane }) => (lane === undefined ? [] : [lane])));
  const masters = (ladderRow(rung)?.lockServers ?? []).filter((name) => /^redis-\d$/.test(name));
  const isAway = (server: string) =>
    readings.some(({ of, value }) => of === server && value === '?');
  return [
    ...standing.map(({ name, instance }): [string, string] => [`X${name}`, kill(instance)]),
    ...standing.map(({ name, instance }): [string, string] => [`P${name}`, pause(instance)]),
    ...paused.map(({ name, instance }): [string, string] => [`R${name}`, resume(instance)]),
    ...[...owners].map((name): [string, string] => [`E${name}`, endLease(name)]),
    ...masters.map((server): [string, string] =>
      isAway(server) ? [`H${server.at(-1)}`, start(server)] : [`S${server.at(-1)}`, stop(server)],
    ),
  ];
}

function Faults({ of }: { of: PlayView }) {
  const faults = isDone(of) ? [] : faultsOf(of);
  if (faults.length === 0) return null;
  return (
    <div class="row wrap faults">
      <small>{page.value.words.orBreak}</small>
      {faults.map(([choice, text]) => (
        <button
          type="button"
          class="fault"
          key={choice}
          data-fault={choice}
          disabled={!of.isStill}
          onClick={() => choose(choice)}
        >
          {text}
          <kbd>{choice.split('').join(' ')}</kbd>
        </button>
      ))}
    </div>
  );
}

function End({ lane, of }: { lane: LaneView; of: PlayView }) {
  const { name, state, checkpoint, waitsOn = 'lock', waitsFor } = lane;
  const { next, waits } = page.value;
  if (state === 'waits')
    return (
      <p class="wait-text" data-waits={name}>
        ◌ {name} {waits(waitsOn, waitsFor)}
      </p>
    );
  if (state === 'answered' || state === 'dead' || state === 'paused')
    return <p class="dim">{`${{ answered: '✓', dead: '✕', paused: '∥' }[state]} ${name}`}</p>;
  const row = ladderRow(of.rung);
  const place = state === 'idle' ? 'idle' : (checkpoint ?? '');
  return (
    <button
      type="button"
      class="next"
      data-lane={name}
      disabled={!of.isStill}
      onClick={() => choose(name)}
    >
      {name} {next(place, row?.hasLock ?? false, row?.onePerUser ?? true)}
      <kbd>{name}</kbd>
    </button>
  );
}
