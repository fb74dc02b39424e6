/** The API's description, as other tools read it. No store is asked: the document has none. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, test } from 'vitest';
import { projectFolder } from '../../src/lab/mutants/change.ts';
import { apiMarkdown } from '../../src/lab/report/api-markdown.ts';
import { replaceParts, wholeFiles } from '../../src/lab/report/docs.ts';
import { describeApi } from '../../src/service/http/described-api.ts';
import { describeProblem, Problem } from '../../src/service/http/problems.ts';

const description = describeApi();

test('the description of the API passes the recommended rules of Redocly, without a warning', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const source = JSON.stringify(description);
  const problems = await lintFromString({ source, config });
  expect(
    problems.map(({ ruleId, message, location: [place] }) => [ruleId, place?.pointer, message]),
  ).toEqual([]);
});

test('the rules see an operation that lost its name, its summary or its security', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const broken = structuredClone(description);
  const buy = broken.paths?.['/vouchers/{id}/orders']?.post;
  for (const name of ['operationId', 'security', 'summary'] as const) delete buy?.[name];
  const problems = await lintFromString({ source: JSON.stringify(broken), config });
  const rules = problems.map(({ ruleId }) => ruleId);
  for (const rule of ['operation-operationId', 'security-defined', 'operation-summary'])
    expect(rules).toContain(rule);
});

const page = readFileSync(join(projectFolder, 'docs/api.md'), 'utf8');

test('docs/api.md and docs/openapi.json are made from the description', () => {
  expect(replaceParts(page, { api: apiMarkdown() })).toBe(page);
  for (const [file, text] of Object.entries(wholeFiles()))
    expect(readFileSync(file, 'utf8'), file).toBe(text);
});

test.each(Problem.shape.code.options)('docs/api.md says what %s is', (code) => {
  const { status, headers } = describeProblem(code);
  const seconds = headers['Retry-After'];
  const row = page.split('\n').find((line) => line.includes(`<a id="${code}"></a>`)) ?? '';
  const cells = row.split(' | ');
  expect([cells[1], cells.at(-1)]).toEqual([String(status), seconds ? `${seconds} s |` : ' |']);
});
