// Thirty learners in a room, each with a client of its own, who think 1 to 2 s before each step.
// The instructor's page is open in Chromium. Usage: npm run room-figures [-- seconds]
// Exit code: 1 when a step is slower than its limit, a verdict is not as expected, or a 31st joins.
import { percentile, withPage } from './page-browser.mjs';
import './on-node.mjs';

const seconds = Number(process.argv[2] ?? 60);
const learners = 30;
const thinkMs = () => 1_000 + Math.random() * 1_000;
const limitMs = 150;
const address = '127.0.0.2';
/** Whether a promise breaks there when both buyers look before either of them writes. */
const rungs = {
  'check-then-insert': true,
  'mutex-per-user': true,
  'redis-atomic': false,
  'redis-owner': false,
  'redis-reentrant': false,
  redlock: false,
  'row-lock': false,
  'unique-rail': false,
  zookeeper: false,
};

/** Without a lock, a buyer looks at once; else it has the lock first. */
const choicesOf = (rung) =>
  ['check-then-insert', 'row-lock'].includes(rung) ? 'ABABAB' : 'AABBABABAB';

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What a browser would do: join, follow the events, and send choices. */
class Learner {
  #origin;
  #headers;
  #events = new Map();
  #stop = new AbortController();

  async join(origin, code) {
    this.#origin = origin;
    this.#headers = { origin, 'content-type': 'application/json' };
    const answer = await this.#post('/join', { code });
    if (!answer.ok) return answer.status;
    this.#headers.cookie = answer.headers.get('set-cookie').split(';')[0];
    const place = await (await fetch(`${origin}/api/feed`, { headers: this.#headers })).json();
    void this.#follow(place).catch(() => {});
    return answer.status;
  }

  #post(path, body) {
    const request = { method: 'POST', headers: this.#headers, body: JSON.stringify(body) };
    return fetch(this.#origin + path, request);
  }

  async #follow({ feed, last }) {
    const url = `${this.#origin}/api/events?feed=${feed}&after=${last}`;
    const { body } = await fetch(url, { headers: this.#headers, signal: this.#stop.signal });
    let text = '';
    for await (const part of body.pipeThrough(new TextDecoderStream())) {
      text += part;
      const messages = text.split('\n\n');
      text = messages.pop();
      for (const message of messages) this.#take(message);
    }
  }

  #take(message) {
    if (!message.startsWith('id:')) return;
    const event = JSON.parse(message.slice(message.indexOf('data: ') + 6));
    if (!('player' in event)) return;
    const known = this.#known(event.player);
    if (event.kind === 'still') {
      known.stills += 1;
      known.wake?.();
    }
    if (event.kind === 'judged' && (event.isFinal || event.broken.length > 0))
      known.isBroken = event.broken.length > 0;
  }

  /** What was told of a play: perhaps before the answer that names it. */
  #known(player) {
    const known = this.#events.get(player) ?? { stills: 0 };
    this.#events.set(player, known);
    return known;
  }

  /** @returns whether a promise broke; undefined when the play did not come to its end */
  async play(rung, times, isOver) {
    const body = { rung, slot: 'a main' };
    const begun = await this.#post('/api/plays', body);
    if (!begun.ok) throw new Error(`${rung}: ${await begun.text()}`);
    const { player } = await begun.json();
    await this.#post('/api/predictions', { rung, outcome: 'one' });
    const known = this.#known(player);
    for (const choice of choicesOf(rung)) {
      await rest(thinkMs());
      if (isOver()) return undefined;
      times.push(await this.#step(player, known, choice));
      if (known.isBroken !== undefined) return known.isBroken;
    }
    return undefined;
  }

  /** @returns the milliseconds from the choice to its last event */
  async #step(player, known, choice) {
    const startedAt = performance.now();
    const before = known.stills;
    const still = new Promise((resolve) => {
      known.wake = resolve;
    });
    const answer = await this.#post(`/api/plays/${player}/choices`, { choice });
    if (!answer.ok) throw new Error(`${choice}: ${await answer.text()}`);
    if (known.stills === before) await still;
    return performance.now() - startedAt;
  }

  leave() {
    this.#stop.abort();
  }
}

async function playOn(learner, number, until, told) {
  const names = Object.keys(rungs);
  for (let play = number; performance.now() < until; play++) {
    const rung = names[play % names.length];
    const isBroken = await learner.play(rung, told.times, () => performance.now() >= until);
    if (isBroken === undefined && performance.now() >= until) return;
    told.plays += 1;
    if (isBroken !== rungs[rung]) told.unexpected.push(`${rung}: broken is ${isBroken}`);
  }
}

await withPage(async (open) => {
  const instructor = await open('/room');
  await instructor.locator('input[name=address]').fill(address);
  await instructor.locator('[data-open-room]').click();
  const code = await instructor.locator('[data-code]').textContent();
  const origin = `http://${address}:${new URL(instructor.url()).port}`;
  const all = Array.from({ length: learners }, () => new Learner());
  for (const learner of all) await learner.join(origin, code);
  const last = await new Learner().join(origin, code);
  await all[0].play('mutex-per-user', [], () => false); // The lab gets ready.
  const told = { times: [], plays: 0, unexpected: [] };
  const until = performance.now() + seconds * 1_000;
  await Promise.all(all.map((learner, number) => playOn(learner, number, until, told)));
  for (const learner of all) learner.leave();
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => percentile(told.times, share));
  const isSlow = p95 > limitMs;
  console.log(
    `${learners} learners, ${seconds} s, ${told.times.length} steps, ${told.plays} plays`,
  );
  console.log(
    `a step, until nothing moves: p50 ${p50.toFixed(1)}, p95 ${p95.toFixed(1)} ms, ` +
      `${isSlow ? 'ABOVE' : 'below'} ${limitMs}; p99 ${p99.toFixed(1)}`,
  );
  console.log(`verdicts that are not as expected: ${told.unexpected.length}`);
  for (const line of told.unexpected) console.log(`  ${line}`);
  console.log(`the 31st: ${last === 409 ? 'refused' : `NOT REFUSED (${last})`}`);
  process.exitCode = isSlow || told.unexpected.length > 0 || last !== 409 ? 1 : 0;
});
