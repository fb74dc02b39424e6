/** The reference of the API, from its description: docs/api.md. */
import { describeApi } from '../../http/described-api.ts';
import { markdownTable } from './markdown-table.ts';

type Paths = NonNullable<ReturnType<typeof describeApi>['paths']>;
type Operation = NonNullable<Paths[string]['get']>;

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

export function apiMarkdown(): string {
  const operations = Object.entries(describeApi().paths ?? {}).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      return operation ? [operationMarkdown(`${method.toUpperCase()} ${path}`, operation)] : [];
    }),
  );
  return operations.join('\n\n');
}

function operationMarkdown(request: string, operation: Operation): string {
  const { summary = '', description = '', operationId = '', security = [] } = operation;
  const token = security.length > 0 ? 'with a token' : 'without a token';
  const answers = Object.entries(operation.responses ?? {}).map(([status, answer]) => [
    status,
    codesOf((answer as { description: string }).description),
  ]);
  return [
    `### \`${request}\``,
    `${summary}: \`${operationId}\`, ${token}.`,
    description,
    markdownTable([['status', 'answer'], ...answers]),
  ].join('\n\n');
}

/** A problem is described by its codes. */
const codesOf = (description: string): string =>
  /^[a-z-]+(, [a-z-]+)*$/.test(description)
    ? description.replaceAll(/[a-z-]+/g, (code) => `\`${code}\``)
    : description;
