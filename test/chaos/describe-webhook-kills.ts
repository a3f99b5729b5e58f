import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaissonEvent } from '@caisson/contract';
import { Caisson } from '@caisson/sdk';
import { describe, expect, test } from 'vitest';
import { startReceiver } from '../events/receiver.ts';
import { type ServerProcess, startServerProcess } from '../server-process.ts';
import { slowness } from '../slowness.ts';
import { chooseSeed, seeded } from './seeded.ts';

/**
 * The server is killed with -9 while it delivers events to a receiver that refuses some of them, and started again. In the
 * end the receiver has every event of the log, and those of each sandbox came in order.
 */
export function describeWebhookKills(kills: number, clients: number): void {
  describe('kill -9 of a server that delivers events', () => {
    test(`${kills} kills lose no event, and each sandbox keeps its order`, { timeout: 300_000 }, async () => {
      const seed = chooseSeed();
      const random = seeded(seed);
      const folder = mkdtempSync(join(tmpdir(), 'caisson-hook-kill-'));
      const receiver = await startReceiver();
      receiver.answer = (_, response) => void response.writeHead(random() < 0.05 ? 503 : 204).end();
      const start = () => startServerProcess(folder, { more: ['--webhook-open', '127.0.0.1'] });
      let server: ServerProcess | undefined;
      try {
        server = await start();
        await clientOf(server).webhooks.add({ url: receiver.url, after: 0 });
        for (let kill = 1; kill <= kills; kill += 1) {
          const caisson = clientOf(server);
          const came = receiver.deliveries.length;
          let goOn = true;
          const work = async () => {
            while (goOn) {
              const sandbox = await caisson.sandboxes.create().catch(() => undefined);
              if (random() < 0.5) await sandbox?.destroy().catch(() => {});
            }
          };
          const working = Promise.all(Array.from({ length: clients }, work));
          await receiver.until(came + 20 + Math.floor(random() * 60));
          await server.kill();
          goOn = false;
          await working;
          server = await start();
        }
        const caisson = clientOf(server);
        const log: CaissonEvent[] = [];
        for await (const event of caisson.events({ follow: false })) log.push(event);
        const end = log.at(-1)?.position ?? 0;
        const isDone = async () => {
          const [webhook] = await caisson.webhooks.list();
          return webhook?.held === 0 && webhook.position >= end;
        };
        await expect.poll(isDone, { timeout: 120_000 * slowness, interval: 100 }).toBe(true);
        const delivered = sequencesOf(receiver.deliveries.map(({ event }) => event));
        for (const [subject, wanted] of sequencesOf(log)) {
          const came = [...(delivered.get(subject) ?? [])].filter((one) => wanted.has(one));
          expect(came, `seed ${seed}: ${subject}`).toEqual([...wanted]);
        }
        expect(log.length).toBeGreaterThan(kills * 20);
      } finally {
        await server?.kill();
        await receiver.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
}

function clientOf({ url }: ServerProcess): Caisson {
  return new Caisson({ baseUrl: url, retries: 0 });
}

/** Of each subject, in the order in which each first came. */
function sequencesOf(events: readonly CaissonEvent[]): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>();
  for (const { subject, sequence } of events) found.set(subject, (found.get(subject) ?? new Set()).add(sequence));
  return found;
}
