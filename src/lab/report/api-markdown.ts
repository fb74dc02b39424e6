/** The reference of the API, from its description: docs/api.md. */
import { z } from 'zod';
import { describeApi } from '../../service/http/described-api.ts';

type Paths = NonNullable<ReturnType<typeof describeApi>['paths']>;
type Operation = NonNullable<Paths[string]['get']>;

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

const Body = z.object({
  content: z.object({
    'application/json': z.object({ schema: z.object({ $ref: z.string() }) }),
  }),
});
const Schema = z.object({
  properties: z.record(z.string(), z.object({ description: z.string().default('') })),
  required: z.array(z.string()).default([]),
});
const Parameter = z.object({
  name: z.string(),
  in: z.string(),
  required: z.boolean().default(false),
  description: z.string().default(''),
});

export function apiMarkdown(): string {
  const { paths = {}, components } = describeApi();
  const bodyOf = (operation: Operation) => {
    if (!operation.requestBody) return [];
    const { schema } = Body.parse(operation.requestBody).content['application/json'];
    const name = schema.$ref.split('/').at(-1) ?? '';
    return fieldLines(Schema.parse(components?.schemas?.[name]));
  };
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      if (!operation) return [];
      const sent = [...parameterLines(operation), ...bodyOf(operation)];
      return [operationMarkdown(`${method.toUpperCase()} ${path}`, operation, sent)];
    }),
  );
  return operations.join('\n\n');
}

const sentLine = (place: string, name: string, isNeeded: boolean, description: string): string =>
  `- ${place} \`${name}\`${isNeeded ? ', needed' : ''}: ${description}`;

const fieldLines = ({ properties, required }: z.infer<typeof Schema>): string[] =>
  Object.entries(properties).map(([name, { description }]) =>
    sentLine('body', name, required.includes(name), description),
  );

/** That of the path is in the request. */
const parameterLines = ({ parameters = [] }: Operation): string[] =>
  z
    .array(Parameter)
    .parse(parameters)
    .filter((parameter) => parameter.in !== 'path')
    .map(({ name, in: place, required, description }) =>
      sentLine(place, name, required, description),
    );

/** A list: what is sent, then the answers. */
function operationMarkdown(request: string, operation: Operation, sent: readonly string[]): string {
  const { summary = '', description = '', operationId = '', security = [] } = operation;
  const token = security.length > 0 ? 'with a token' : 'without a token';
  const usual = new Set(usualCodes(operation));
  const answers = Object.entries(operation.responses ?? {}).flatMap(([status, answer]) => {
    const { description: said } = answer as { description: string };
    if (!isCodes(said)) return [`- ${status}: ${said}`];
    const own = said.split(', ').filter((code) => !usual.delete(code));
    return own.length > 0 ? [`- ${status}: ${own.map((code) => `\`${code}\``).join(', ')}`] : [];
  });
  if (usual.size > 0) throw new RangeError(`${request} does not answer ${[...usual]}`);
  return [
    `### \`${request}\``,
    `${summary}: \`${operationId}\`, ${token}. ${description}`,
    [...sent, ...answers].join('\n'),
  ].join('\n\n');
}

/** Of every operation with a token, or with a body: docs/api.md says them once. */
const usualCodes = ({ security = [], requestBody }: Operation): string[] => [
  ...['invalid-request', 'internal-error'],
  ...(security.length > 0 ? ['unauthenticated', 'forbidden'] : []),
  ...(requestBody ? ['body-too-large', 'unsupported-media-type'] : []),
];

/** A problem is described by its codes. */
const isCodes = (description: string): boolean => /^[a-z-]+(, [a-z-]+)*$/.test(description);
