import { type fileRoutes, newId, type processRoutes } from '@caisson/contract';

type InsideRoute = Exclude<keyof typeof processRoutes | keyof typeof fileRoutes, 'sandbox.stats'> | 'tool.run';
type Sample = (id: string, process?: string) => { path: string; body?: unknown };

const at = (id: string, rest: string) => `/v1/sandboxes/${id}/${rest}`;
const of = (id: string, process: string = newId('process'), rest = '') => at(id, `processes/${process}${rest}`);
const file =
  (name: string, body: object): Sample =>
  (id) => ({ path: at(id, `files/${name}`), body });
const look =
  (rest: string): Sample =>
  (id) => ({ path: at(id, `files${rest}`) });

/** A request for each route of what happens inside a sandbox, right in everything but, perhaps, who sends it. */
export const insideSamples: Record<InsideRoute, Sample> = {
  'process.exec': (id) => ({ path: at(id, 'exec'), body: { command: 'true' } }),
  'process.start': (id) => ({ path: at(id, 'processes'), body: { command: 'true' } }),
  'process.list': (id) => ({ path: at(id, 'processes') }),
  'process.get': (id, process) => ({ path: of(id, process) }),
  'process.output': (id, process) => ({ path: of(id, process, '/output?follow=false') }),
  'process.stdin': (id, process) => ({ path: of(id, process, '/stdin'), body: 'text' }),
  'process.signal': (id, process) => ({ path: of(id, process, '/signal'), body: { signal: 'SIGWINCH' } }),
  'process.resize': (id, process) => ({ path: of(id, process, '/resize'), body: { columns: 80, rows: 24 } }),
  'process.wait': (id, process) => ({ path: of(id, process, '/wait'), body: { waitSeconds: 0 } }),
  'process.forget': (id, process) => ({ path: of(id, process) }),
  'process.attach': (id, process) => ({ path: of(id, process, '/attach') }),
  'file.read': look('/content?path=/etc/hostname'),
  'file.write': (id) => ({ path: at(id, 'files/content?path=/home/user/sample'), body: 'text' }),
  'file.stat': look('/stat?path=/etc'),
  'file.list': look('?path=/etc'),
  'file.mkdir': file('mkdir', { path: '/home/user/made', parents: true }),
  'file.move': file('move', { from: '/home/user/none', to: '/home/user/nowhere' }),
  'file.remove': file('remove', { path: '/home/user/none', missingOk: true }),
  'file.symlink': file('symlink', { path: '/home/user/link', target: '/etc', replace: true }),
  'file.chmod': file('chmod', { path: '/home/user/none', mode: 0o600 }),
  'file.edit': file('edit', { path: '/home/user/none', edits: [{ oldText: 'a', newText: 'b' }] }),
  'file.grep': file('grep', { path: '/etc/hostname', pattern: 'x' }),
  'file.glob': file('glob', { path: '/etc', pattern: 'host*' }),
  'file.tree.read': look('/tree?path=/etc/hostname'),
  'file.tree.write': (id) => ({ path: at(id, 'files/tree?path=/home/user/tree'), body: '' }),
  'tool.run': (id) => ({
    path: at(id, 'tools'),
    body: { tool: 'bash', callId: newId('request'), params: { command: 'true' } },
  }),
  'file.watch': look('/watch?path=/home/user/none'),
};
