import { type CaissonEvent, newId } from '@caisson/contract';
import { expect, test } from 'vitest';
import { eventText } from './event-text.ts';

const event = (type: CaissonEvent['type'], data: CaissonEvent['data']): CaissonEvent => ({
  specversion: '1.0',
  id: newId('event'),
  source: '/caisson/x',
  type,
  subject: 'sbx',
  time: '2026-11-15T14:00:00.000Z',
  datacontenttype: 'application/json',
  sequence: 1,
  position: 7,
  tenant: 'acme',
  project: 'web',
  data,
});

test('what a sandbox found of itself is told with times, and what is wrong in words', () => {
  const checks = [
    { name: 'guest', ok: true, ms: 1.5, detail: 'answers' },
    { name: 'disk', ok: null, ms: 0, detail: 'limits no disks' },
    { name: 'network', ok: false, ms: 2, detail: 'a way over eth0\u001b[31m' },
  ];
  expect(eventText(event('caisson.sandbox.checked', { ok: false, launchMs: 36, checks }))).toMatch(
    /checked {2}launched in 36 ms; guest 1.5 ms, disk unknown \(limits no disks\), network WRONG \(a way over eth0\P{Cc}*\)$/u,
  );
});

test('a move to another backend is told from where to where, and why', () => {
  const [from, to] = [
    { driver: 'docker', host: 'here' },
    { driver: 'oci', host: 'here' },
  ];
  const reason = { code: 'driver_failed', message: 'no engine answers' };
  expect(eventText(event('caisson.sandbox.rerouted', { from, to, reason }))).toMatch(
    /rerouted {2}docker on here → oci on here: no engine answers$/,
  );
});
