import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaissonEvent, EgressRecord } from '@caisson/contract';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../e2e/server.ts';
import { slowness } from '../slowness.ts';
import { makeCertificates } from './certificates.ts';

/** From `caisson secret set` to the server that it is for, and back into a real sandbox. */
const value = 'value-that-only-its-server-sees';
const hosts = ['api.example.com', 'other.example.com'];
const certificates = makeCertificates(...hosts);

describe.each(['runc', 'runsc'])('secrets on their way out of %s', (ociRuntime) => {
  let server: TestServer;
  let caisson: Caisson;
  let sandbox: SandboxHandle;
  const outside = new Map<string, Server>();
  const ports = new Map<string, number>();
  const folder = mkdtempSync(join(tmpdir(), 'caisson-roots-'));

  beforeAll(async () => {
    for (const host of hosts) {
      const one = createServer({ ...certificates.of(host) }, (req, res) => {
        const { authorization = '', 'x-key': key = '' } = req.headers;
        res.end(`${JSON.stringify({ url: req.url, isThere: `${authorization}${key}${req.url}`.includes(value) })}\n`);
        seen.push(`${host} ${authorization} ${key} ${req.url}`);
      });
      one.listen(0, '127.0.0.1');
      await once(one, 'listening');
      outside.set(host, one);
      ports.set(host, (one.address() as AddressInfo).port);
    }
    const rootsFile = join(folder, 'roots.pem');
    writeFileSync(rootsFile, certificates.authority);
    const open = [...ports.values()].map((port) => `127.0.0.1:${port}`);
    const resolver = { resolve: async (name: string) => (hosts.includes(name) ? ['127.0.0.1'] : []) };
    server = await testServer({ drivers: ['oci'], egress: { open, rootsFile, resolver } });
    caisson = new Caisson({ baseUrl: server.url });
    const bound = { value, domains: ['api.example.com'], ports: [ports.get('api.example.com') ?? 0] };
    await caisson.secrets.set('token', { ...bound, env: 'API_TOKEN', header: { name: 'x-key', format: 'key {}' } });
    const network = { mode: 'allowlist', allow: ['*.example.com'], secrets: ['token'] };
    const spec = { source: { kind: 'none' }, os: 'host', runtime: { ociRuntime, network } };
    sandbox = await caisson.sandboxes.create({ spec });
  }, 90_000 * slowness);
  afterAll(async () => {
    await sandbox?.destroy();
    await server?.close();
    for (const one of outside.values()) one.close();
    rmSync(folder, { recursive: true });
  }, 60_000 * slowness);

  const seen: string[] = [];
  const at = (host: string) => `https://${host}:${ports.get(host)}`;
  const sh = async (line: string) => sandbox.exec(['/bin/sh', '-c', line], { user: 'root' });

  const past = async () => {
    const found: CaissonEvent[] = [];
    for await (const event of sandbox.events({ follow: false })) found.push(event);
    return found;
  };

  test('a program that knows a placeholder alone is let in, and has seen the value nowhere', async () => {
    seen.length = 0;
    const line = `curl -sS -H "Authorization: Bearer $API_TOKEN" "${at('api.example.com')}/v1?key=$API_TOKEN"`;
    const { stdout, stderr, exitCode } = await sh(line);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    expect(seen).toEqual([`api.example.com Bearer ${value} key ${value} /v1?key=${value}`]);
    expect(JSON.parse(stdout)).toMatchObject({ isThere: true });
    const search =
      "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /dev/caisson-* 2>/dev/null | grep -c '[o]nly-its-server'; true";
    expect((await sh(search)).stdout).toBe('0\n');
  });

  test('the placeholder stays a placeholder for every other host, whose TLS is its own', async () => {
    seen.length = 0;
    const trusted = '/tmp/outside.pem';
    await sandbox.files.write(trusted, certificates.authority);
    const line = `curl -sS --cacert ${trusted} -H "x-key: $API_TOKEN" ${at('other.example.com')}/`;
    expect(JSON.parse((await sh(line)).stdout)).toMatchObject({ isThere: false });
    expect(seen.join()).not.toContain(value);
    expect(seen).toHaveLength(1);
  });

  test('each use is an event and in the log, without the value', async () => {
    const isUse = (event: { type: string }) => event.type === 'caisson.sandbox.secret-used';
    await expect.poll(async () => (await past()).filter(isUse).length).toBeGreaterThan(0);
    const uses = (await past()).filter(isUse);
    expect(uses[0]?.data).toMatchObject({ secret: 'token', host: 'api.example.com' });
    const log: EgressRecord[] = [];
    for await (const record of sandbox.egress.log()) log.push(record);
    expect(log).toContainEqual(expect.objectContaining({ host: 'api.example.com', secrets: ['token'] }));
    expect(JSON.stringify([uses, log])).not.toContain(value);
  });

  test('a sandbox that loses a secret by its rules loses it on the next request', async () => {
    seen.length = 0;
    await sandbox.network.set({ secrets: [] });
    await sh(`curl -sSk -H "Authorization: Bearer $API_TOKEN" ${at('api.example.com')}/; true`);
    expect(seen).toHaveLength(1);
    expect(seen.join()).not.toContain(value);
  });
});
