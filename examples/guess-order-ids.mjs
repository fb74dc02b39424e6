// An attacker buys the first and the last order of a day, subtracts the two ids, and asks for the
// 10,000 ids below the last one. What it prints is in docs/design.md.
const [dayMs, sold] = [86_400_000, 43_565];
const midnightMs = Date.UTC(2026, 10, 20) - Date.UTC(2026, 0, 1);
const soldAtMs = Array.from(
  { length: sold },
  (_, n) => midnightMs + Math.floor((n * dayMs) / sold),
);
const workers = [17n, 310n, 644n, 902n];
const makers = {
  'auto-increment': soldAtMs.map((_, n) => 8_120_418n + BigInt(n)),
  snowflake: soldAtMs.map((ms, n) => (BigInt(ms) << 22n) | (workers[n % 4] << 12n)),
};
for (const [maker, ids] of Object.entries(makers)) {
  const [orders, first, last] = [new Set(ids), ids.at(0), ids.at(-1)];
  const found = Array.from({ length: 10_000 }, (_, n) => last - BigInt(n + 1)).filter((id) =>
    orders.has(id),
  );
  console.log(
    `${maker}: sold ${last - first + 1n} in a day? ${found.length} of 10000 neighbours are orders`,
  );
}
// Somebody who knows the four worker ids (they are in ids of their own) tries each millisecond of a
// minute.
const orders = new Set(makers.snowflake);
const minute = Array.from({ length: 60_000 }, (_, ms) => BigInt(midnightMs + ms));
const guesses = minute.flatMap((ms) => workers.map((worker) => (ms << 22n) | (worker << 12n)));
console.log(
  `snowflake: ${guesses.filter((id) => orders.has(id)).length} orders in ${guesses.length} informed guesses`,
);
