import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaissonEvent } from '@caisson/contract';
import { FileSink } from '../../packages/server/src/events/file-sink.ts';
import { Trust } from '../../packages/server/src/network/proxy/trust.ts';
import { Reach } from '../../packages/server/src/webhooks/reach.ts';
import { newWebhookSecret } from '../../packages/server/src/webhooks/signature.ts';
import { WebhookSink } from '../../packages/server/src/webhooks/webhook-sink.ts';
import { startReceiver } from '../events/receiver.ts';
import { describeSink } from './describe-sink.ts';

describeSink('of a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-sink-'));
  const path = join(folder, 'sub', 'events.jsonl');
  mkdirSync(join(folder, 'sub'));
  const sink = new FileSink(path);
  return {
    sink,
    async received() {
      const text = readIfThere(path);
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as CaissonEvent]));
    },
    async break() {
      rmSync(join(folder, 'sub'), { recursive: true });
    },
    async heal() {
      mkdirSync(join(folder, 'sub'));
    },
    async close() {
      await sink.close();
      rmSync(folder, { recursive: true });
    },
  };
});

describeSink('of a webhook', async () => {
  const receiver = await startReceiver();
  const secret = newWebhookSecret();
  const reach = new Reach({ resolve: async () => [] }, ['127.0.0.1']);
  const sink = new WebhookSink({
    ...{ url: receiver.url, reach, trust: new Trust(), version: 'test', secrets: () => [secret] },
  });
  return {
    sink,
    received: async () => receiver.deliveries.map(({ event }) => event),
    async break() {
      receiver.answer = (_, response) => response.writeHead(500).end('on fire');
    },
    async heal() {
      receiver.answer = undefined;
    },
    async close() {
      await sink.close();
      await receiver.close();
    },
  };
});

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
