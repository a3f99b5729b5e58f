import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { describe, expect, test } from 'vitest';
import { presetNames, presets, presetsDate } from './presets.ts';
import { unknownPresets } from './unknown-presets.ts';

describe.each([...presets])('the preset %s', (name, { description, entries }) => {
  test('is a word of a spec, and so is each of its entries, in its one spelling', () => {
    const network = { allow: [name, ...entries] };
    const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime: { network } });
    expect(blueprint.runtime.network.allow).toEqual([`preset:${name}`, ...entries]);
  });

  test('has a description, entries with a port each, none twice, and no other preset', () => {
    expect(description).toMatch(/^[^\n]{10,100}$/);
    expect(entries.length).toBeGreaterThan(0);
    expect(new Set(entries).size).toBe(entries.length);
    for (const entry of entries) expect(entry).toMatch(/^[^:]+:(?:22|80|443)$/);
  });

  test('opens nothing below a whole top-level domain', () => {
    for (const entry of entries) if (entry.startsWith('*.')) expect(entry.split('.').length).toBeGreaterThan(2);
  });
});

test('the services that everybody asks for are there', () => {
  const asked =
    'npm pypi debian ubuntu alpine github gitlab bitbucket docker ghcr golang crates rubygems maven nuget packagist conda huggingface anthropic openai nodejs';
  expect(asked.split(' ').filter((name) => !presetNames.has(name))).toEqual([]);
  expect(presetsDate).toMatch(/^\d{4}-\d{2}-\d{2}$/);
});

describe('presets that nobody knows', () => {
  test('are told with their place and the nearest name', () => {
    const rules = { allow: ['preset:npm', 'example.com', 'preset:pypii'], deny: ['preset:zzzzzz'] };
    expect(unknownPresets(rules)).toEqual([
      { path: 'allow[2]', entry: 'preset:pypii', nearest: 'pypi' },
      { path: 'deny[0]', entry: 'preset:zzzzzz' },
    ]);
  });

  test.each(['constructor', '__proto__', 'toString', ''])('include %j', (name) => {
    expect(unknownPresets({ allow: [`preset:${name}`], deny: [] })).toHaveLength(1);
  });
});
