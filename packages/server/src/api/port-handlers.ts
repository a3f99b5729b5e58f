import { CaissonError, hasCode, type ListedPort, type portRoutes, type SharedPort } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const portHandlers: Handlers<keyof typeof portRoutes> = {
  'port.list': async (context, call) => {
    const { sandbox, shares } = await context.ports.list(call.caller, call.params.id);
    // To look is no use: what is paused stays paused.
    if (sandbox.state !== 'ready') return ok({ items: listed(shares, undefined) });
    const { guest } = await context.guests.of(call.caller, sandbox.id, 'read', call);
    return ok({ items: listed(shares, await guest.ports.list(call.shutdown)) });
  },

  'port.open': async ({ ports }, { caller, params, body }) => {
    const { opened, isNew } = await ports.open(caller, params.id, params.port, body);
    return { status: isNew ? 201 : 200, body: opened };
  },

  'port.close': async ({ ports }, { caller, params }) => ok(await ports.close(caller, params.id, params.port)),

  'port.link': async ({ ports }, { caller, params, body }) => ({
    status: 201,
    body: await ports.link(caller, params.id, params.port, body.expiresInSeconds),
  }),

  'port.wait': async (context, call) => {
    const { port } = call.params;
    const { guest } = await context.guests.of(call.caller, call.params.id, 'read', call);
    const left = new AbortController();
    call.onLeft(() => left.abort());
    try {
      await guest.ports.wait(port, { timeoutMs: Math.ceil(call.body.timeoutSeconds * 1000), signal: left.signal });
      return ok({ port, listening: true });
    } catch (error) {
      if (left.signal.aborted || !hasCode(error, 'request_timeout')) throw error;
      return { status: 202, body: { port, listening: false } };
    }
  },

  'port.connect': async (context, call) => {
    await context.guests.of(call.caller, call.params.id, 'use', call);
    throw new CaissonError('websocket_needed');
  },
};

interface Found {
  readonly port: number;
  readonly address: string;
  readonly pid?: number | undefined;
  readonly uid: number;
}

function listed(shares: readonly SharedPort[], found: readonly Found[] | undefined): ListedPort[] {
  const numbers = new Set([...shares, ...(found ?? [])].map(({ port }) => port));
  return [...numbers]
    .sort((a, b) => a - b)
    .map((port) => ({
      port,
      listening:
        found
          ?.filter((one) => one.port === port)
          .map(({ address, pid, uid }) => ({
            address,
            family: address.includes(':') ? ('ipv6' as const) : ('ipv4' as const),
            pid: pid ?? null,
            uid,
          })) ?? null,
      share: shares.find((share) => share.port === port) ?? null,
    }));
}
