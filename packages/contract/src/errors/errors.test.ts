import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CaissonError, hasCode } from './caisson-error.ts';
import { fieldProblems, formatPath, parseOrThrow } from './field-problems.ts';
import { errorKinds } from './kinds.ts';
import { fromProblem, problemSchema, toProblem } from './problem.ts';
import { type ErrorCode, errorFacts, errorTable } from './table.ts';

const codes = Object.keys(errorTable) as ErrorCode[];

test.each(codes)('%s has a title, a hint, a status of failure and an exit code that no command uses', (code) => {
  const facts = errorFacts(code);
  expect(facts.title).toMatch(/^[A-Z].*[^.]$/);
  expect(facts.hint).toMatch(/\.$/);
  expect(facts.status).toBeGreaterThanOrEqual(400);
  expect(facts.status).toBeLessThan(600);
  expect(facts.exitCode).toBeGreaterThanOrEqual(64);
  expect(facts.exitCode).toBeLessThan(126);
});

test('every kind has a code, and the codes that the design names are all there', () => {
  const used = new Set(codes.map((code) => errorTable[code].kind));
  expect([...used].sort()).toEqual(Object.keys(errorKinds).sort());
  const named =
    'sandbox_not_found sandbox_exists sandbox_paused sandbox_destroying process_not_found rollback_in_progress invalid_state max_sandboxes_reached tools_in_flight snapshots_not_available insufficient_credits quota_exceeded disk_quota_exceeded spec_invalid unsupported-os unsupported-harness unsupported-package unsupported-access-mode unsupported-runtime-requirement';
  for (const code of named.split(' ')) expect(codes).toContain(code);
});

test('an error survives the way over HTTP', () => {
  fc.assert(
    fc.property(fc.constantFrom(...codes), fc.string(), fc.string(), (code, message, path) => {
      const problems = [{ path, code: 'unknown_key', message: 'm', hint: 'h' }];
      const error = new CaissonError(code, message, { problems, context: { lines: ['x'] } });
      const wire = JSON.parse(JSON.stringify(toProblem(error, 'req1')));
      expect(problemSchema.parse(wire)).toEqual(wire);
      const back = fromProblem(wire, wire.status);
      expect(back).toMatchObject({ code, message, hint: error.hint, problems, status: error.status });
      expect(back.context).toEqual({ lines: ['x'], requestId: 'req1' });
    }),
  );
});

test('whatever a server answers becomes one of our errors', () => {
  fc.assert(
    fc.property(fc.anything(), fc.integer({ min: 400, max: 599 }), (body, status) => {
      expect(fromProblem(body, status)).toBeInstanceOf(CaissonError);
    }),
  );
});

test('a code of a newer server keeps its words and its name', () => {
  const error = fromProblem({ code: 'from_the_future', detail: 'new thing', hint: 'upgrade' }, 409);
  expect(error).toMatchObject({ code: 'invalid_state', message: 'new thing', hint: 'upgrade' });
  expect(error.context).toEqual({ serverCode: 'from_the_future' });
});

test('an error of one code is told from the others', () => {
  const error = new CaissonError('sandbox_paused');
  expect(hasCode(error, 'sandbox_paused')).toBe(true);
  expect(hasCode(error, 'sandbox_stopped')).toBe(false);
  expect(hasCode(new Error('sandbox_paused'), 'sandbox_paused')).toBe(false);
});

test('each fault of a request is one problem with its path', () => {
  const schema = z.strictObject({ name: z.string(), size: z.number().max(3), tags: z.array(z.string()) });
  const parsed = schema.safeParse({ size: 9, tags: ['a', 1], extra: true, more: 1 }, { reportInput: true });
  const found = fieldProblems(parsed.error?.issues ?? []).map(({ path, code }) => `${path} ${code}`);
  expect(found.sort()).toEqual([
    'extra unknown_key',
    'more unknown_key',
    'name required',
    'size too_large',
    'tags[1] wrong_type',
  ]);
  expect(formatPath([])).toBe('$');
});

test('a union tells the faults of the branch that came nearest', () => {
  const schema = z.union([z.string(), z.strictObject({ id: z.string(), version: z.string() })]);
  expect(() => parseOrThrow(schema, { id: 'x', version: 3 }, 'request_invalid', 'it')).toThrowError(
    expect.objectContaining({ problems: [expect.objectContaining({ path: 'version', code: 'wrong_type' })] }),
  );
});
