import { type ErrorCode, type ErrorKind, errorFacts, errorKinds, errorTable } from '@caisson/contract';

/** docs/errors.md, from the table and from nothing else. */
export function renderErrorsPage(): string {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const sections = (Object.keys(errorKinds) as ErrorKind[]).map((kind) => {
    const { means, exitCode, status } = errorKinds[kind];
    const rows = codes
      .map(errorFacts)
      .filter((facts) => facts.kind === kind)
      .map(
        (facts) =>
          `| \`${facts.code}\` | ${facts.status} | ${facts.retryable ? 'yes' : ''} | ${facts.title} | ${facts.hint} |`,
      );
    return [
      `## ${kind}`,
      '',
      `It means that ${means}. HTTP status ${status} unless the row says otherwise; the CLI exits with ${exitCode}.`,
      '',
      '| code | status | retry | title | what to do |',
      '| --- | --- | --- | --- | --- |',
      ...rows,
      '',
    ].join('\n');
  });
  return [
    '# Errors',
    '',
    'Every error has a code from this list. Over HTTP it is a problem document (RFC 9457, `application/problem+json`) with',
    '`code`, `detail`, `hint`, `retryable` and, where a request was invalid, `problems`: one entry a fault, with its path.',
    'The SDK throws a `CaissonError` with the same fields, and the CLI prints them and exits with the code of the kind.',
    '',
    '`retry` says that the same request may succeed later without anybody changing anything.',
    '',
    'This page is generated from `packages/contract/src/errors/table.ts` by `npm run docs`; a test fails when they differ.',
    '',
    ...sections,
  ].join('\n');
}
