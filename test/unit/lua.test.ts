/** The Lua scripts: a header that tells all, keys that are all declared, and no answer that the header does not list. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const folder = new URL('../../lua/', import.meta.url);
const scripts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.lua'))
  .map((file) => {
    const lines = readFileSync(new URL(file, folder), 'utf8').split('\n');
    const bodyAt = lines.findIndex((line) => !line.startsWith('--'));
    const code = lines.slice(bodyAt).filter((line) => !line.trimStart().startsWith('--'));
    return { file, header: lines.slice(0, bodyAt).join('\n'), code: code.join('\n') };
  });

const all = (text: string, pattern: RegExp): string[] =>
  [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? match[0]))].sort();

/** The arguments of every `redis.call(…)`, cut at the commas outside brackets and quotes. */
function calls(code: string): string[][] {
  return [...code.matchAll(/redis\.p?call\(/g)].map(({ index, 0: opening }) => {
    const args = [''];
    let depth = 0;
    let quoted = false;
    for (const character of code.slice(index + opening.length)) {
      if (character === "'") quoted = !quoted;
      if (!quoted && depth === 0 && character === ')') break;
      if (!quoted && '([{'.includes(character)) depth += 1;
      if (!quoted && ')]}'.includes(character)) depth -= 1;
      if (!quoted && depth === 0 && character === ',') args.push('');
      else args.push(`${args.pop() ?? ''}${character}`);
    }
    return args.map((arg) => arg.trim());
  });
}

const withoutKey = ["'TIME'"];

test('there are scripts, and the reader of this test can read them', () => {
  expect(scripts.map(({ file }) => file)).toContain('sale/purchase.lua');
  const nested =
    "redis.call('HSET', KEYS[2], f(a, b), ARGV[1] .. ':,' .. ARGV[4]) redis.call('TIME')";
  expect(calls(nested)).toEqual([
    ["'HSET'", 'KEYS[2]', 'f(a, b)', "ARGV[1] .. ':,' .. ARGV[4]"],
    ["'TIME'"],
  ]);
});

describe.each(scripts)('$file', ({ header, code }) => {
  test('opens with its purpose, its keys, its arguments and its answers', () => {
    const order = ['Purpose:', 'KEYS[1]', 'ARGV[1]', 'Answers:'].map((part) =>
      header.indexOf(part),
    );
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('uses the keys and arguments that its header names, no more and no fewer', () => {
    expect(all(code, /(?:KEYS|ARGV)\[\d+\]/g)).toEqual(all(header, /(?:KEYS|ARGV)\[\d+\]/g));
  });

  test('touches declared keys only, and builds none but channels', () => {
    const touching = calls(code).filter(([command = '']) => !withoutKey.includes(command));
    expect(touching.length).toBeGreaterThan(0);
    for (const [command, key] of touching)
      expect(`${command} ${key}`).toMatch(/^'[A-Z]+' KEYS\[\d+\]$|^'PUBLISH' KEYS/);
    expect(code).not.toMatch(/\bKEYS\b(?!\[\d+\])/);
  });

  test('answers in the words that its header lists, no more and no fewer', () => {
    const answers = header.slice(header.indexOf('Answers:'));
    // Redisson's protocol answers in numbers and nil; ours in words.
    const [listed, given] =
      code.includes("return '") || code.includes("return { '")
        ? [all(answers, /'([a-z-]+)'/g), all(code, /\breturn (?:\{ )?'([a-z-]+)'/g)]
        : [all(answers, /\b(nil|[01])(?= (?:when|\|))/g), all(code, /\breturn (nil|[01])\b/g)];
    expect(given).toEqual(listed);
    expect(listed.length).toBeGreaterThan(0);
  });

  test('never makes a number of an id', () => {
    const times = all(header, /ARGV(\[\d+\]) [^[\]]*milliseconds/g);
    expect(
      all(code, /tonumber\(ARGV(\[\d+\])/g).filter((argument) => !times.includes(argument)),
    ).toEqual([]);
  });
});
