import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isErrorCode } from '@caisson/contract';
import { expect, test } from 'vitest';
import { renderErrorsPage } from './errors-page.ts';
import { renderLifecyclePage } from './lifecycle-page.ts';
import { renderPackagesPage } from './packages-page.ts';

const root = join(import.meta.dirname, '..', '..');
const folders = ['', 'docs/', 'docs/runbooks/'];
const pages = folders
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}${name}`))
  .filter((name) => name.endsWith('.md'));

// `npm run docs` writes what these expect.
test('docs/errors.md is what the table of errors says', async () => {
  await expect(renderErrorsPage()).toMatchFileSnapshot(join(root, 'docs', 'errors.md'));
});

test('docs/lifecycle.md is what the tables of the lifecycle say', async () => {
  await expect(renderLifecyclePage()).toMatchFileSnapshot(join(root, 'docs', 'lifecycle.md'));
});

test('docs/packages.md is what the catalog of packages says', async () => {
  await expect(renderPackagesPage()).toMatchFileSnapshot(join(root, 'docs', 'packages.md'));
});

test('every code in docs/errors.md is in the table, once', () => {
  const page = readFileSync(join(root, 'docs', 'errors.md'), 'utf8');
  const listed = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1]);
  expect(listed.filter((code) => !isErrorCode(code))).toEqual([]);
  expect(new Set(listed).size).toBe(listed.length);
});

test.each(pages)('every link of %s to a file of the repository leads somewhere', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map((match) => match[1] ?? '');
  const broken = targets.filter((target) => !existsSync(join(root, dirname(page), target)));
  expect(broken).toEqual([]);
});
