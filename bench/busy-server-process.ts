import { type Id, localOwner } from '@caisson/contract';
import { startServer } from '@caisson/server';
import { type SendPlan, sendEvents } from './send-events.ts';

/** What this process is asked, and what it answers. */
export type BusyRequest = { readonly kind: 'send'; readonly plan: SendPlan } | { readonly kind: 'end' };
export type BusyAnswer =
  | { readonly kind: 'ready'; readonly url: string; readonly ids: readonly string[] }
  | { readonly kind: 'sent'; readonly count: number; readonly cpuMicros: number };

const busySandboxes = 200;
const [folder = '', receiver = ''] = process.argv.slice(2);
const answer = (said: BusyAnswer) => process.send?.(said);

/** A whole server, which is told to make so many events a second beside what it is asked over HTTP. */
const server = await startServer({
  ...{ dataFolder: folder, version: 'bench', listen: ['127.0.0.1:0'], allowHosts: [], destroyOnExit: false },
  ...{ drivers: ['fake'], logLevel: 'warn', sinks: { open: ['127.0.0.1'] } },
});
await server.ready;
const { sandboxes, webhooks, store } = server.plane;
const caller = { owner: localOwner, scope: 'admin', key: null } as const;
const ids: Id<'sandbox'>[] = [];
for (let n = 0; n < busySandboxes; n += 1) ids.push((await sandboxes.create(caller, { waitSeconds: 60 })).sandbox.id);
await webhooks.add(caller, { url: receiver });
const note = (n: number) =>
  store.sandboxes.note(ids[n % ids.length] ?? ('' as Id<'sandbox'>), 'caisson.sandbox.progress', { line: String(n) });

process.on('message', async (asked: BusyRequest) => {
  if (asked.kind === 'end') {
    await server.close();
    process.disconnect();
    return;
  }
  const before = process.cpuUsage();
  const count = await sendEvents(asked.plan, note);
  const { user, system } = process.cpuUsage(before);
  answer({ kind: 'sent', count, cpuMicros: user + system });
});
const url = server.addresses.find((address) => address.startsWith('http')) ?? '';
answer({ kind: 'ready', url, ids });
