import { CaissonError } from '@caisson/contract';
import { expect, test } from 'vitest';
import { canHeal } from './can-heal.ts';

const failed = (step: string, ...lastLines: string[]) =>
  new CaissonError('build_failed', 'it failed', { context: { step, exitCode: 100, lastLines } });
const registry = (context: object, cause?: unknown) =>
  new CaissonError('registry_failed', 'no', { context: { ...context }, cause });

test.each([
  ['a mirror whose name is not found', failed('packages', "Err: Temporary failure resolving 'deb.debian.org'")],
  ['a mirror that is away', failed('packages', 'E: Unable to connect to mirror.example:80')],
  ['a mirror that our own gate does not reach', failed('packages', 'Err:1 x InRelease 502  Bad Gateway [IP: 1.2.3.4]')],
  ['a mirror that is being changed', failed('packages', 'E: Failed to fetch x  Hash Sum mismatch')],
  ['a registry of a harness that broke off', failed('harness-install', 'curl: (56) Recv failure')],
  ['a registry that is away', registry({}, Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))],
  ['a registry that is ill', registry({ status: 503 })],
  ['a guest that did not answer', new CaissonError('guest_unreachable')],
])('%s can heal', (_, error) => expect(canHeal(error)).toBe(true));

test.each([
  ['a command of the spec, whatever it says', failed('setup-1', 'curl: (7) Connection refused')],
  ['a package that is not there', failed('packages', 'E: Unable to locate package zzz')],
  ['a mirror that the rules forbid', failed('packages', 'curl: (56) CONNECT tunnel failed, response 403')],
  ['a registry that refuses', registry({ status: 401 })],
  ['a package that is unknown', new CaissonError('unsupported-package')],
  ['a full disk', new CaissonError('disk_quota_exceeded')],
])('%s cannot', (_, error) => expect(canHeal(error)).toBe(false));
