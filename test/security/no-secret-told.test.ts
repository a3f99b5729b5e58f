import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCredentialsFile } from '../../packages/server/src/images/registry/credentials.ts';
import { RegistryClient } from '../../packages/server/src/images/registry/registry-client.ts';
import { startServer } from '../../packages/server/src/main.ts';
import { newWebhookSecret } from '../../packages/server/src/webhooks/signature.ts';
import { GuestDriver } from '../e2e/guest-driver.ts';
import { call, type Reply, type TestServer, testServer } from '../e2e/server.ts';
import { request } from '../e2e/unix-request.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../otlp-receiver.ts';
import { slowness } from '../slowness.ts';

/** Everything secret that the server was given or made, by what it is. */
const secrets = new Map<string, string>();

function secret(name: string, value = `${name.replaceAll(' ', '-')}-${randomBytes(12).toString('hex')}`): string {
  secrets.set(name, value);
  return value;
}

const place = mkdtempSync(join(tmpdir(), 'caisson-told-'));
const logFile = join(place, 'log');
const eventsFile = join(place, 'events.jsonl');
const patience = { timeout: 20_000 * slowness, interval: 20 };
const driver = new GuestDriver();
const answers: string[] = [];
const posted: string[] = [];
/** Hosts that were asked with a credential. */
const credited = new Set<string>();
let server: TestServer;
let collector: OtlpReceiver;
let echo: Server;
let logFd: number;

/** Answers everything with a refusal that repeats what it was asked with, credentials and all. */
async function listening(made: Server): Promise<Server> {
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return made;
}

const answerEcho: RequestListener = async (asked, reply) => {
  let body = '';
  for await (const piece of asked) body += piece;
  if (asked.url?.startsWith('/take')) {
    posted.push(body);
    return reply.writeHead(204).end();
  }
  const isKnown = asked.headers.authorization !== undefined;
  if (isKnown) credited.add(String(asked.headers.host).split(':')[0] ?? '');
  const message = `${asked.url} ${JSON.stringify(asked.headers)} ${body}`;
  const challenge = isKnown ? {} : { 'www-authenticate': 'Basic realm="echo"' };
  reply.writeHead(isKnown ? 400 : 401, { 'content-type': 'application/json', ...challenge });
  return reply.end(JSON.stringify({ errors: [{ code: 'DENIED', message }] }));
};

const echoPort = () => (echo.address() as AddressInfo).port;

beforeAll(async () => {
  collector = await startOtlpReceiver();
  echo = await listening(createServer(answerEcho));
  logFd = openSync(logFile, 'w');
  const credentialsFile = join(place, 'registries.json');
  const registry = `127.0.0.1:${echoPort()}`;
  const auth = Buffer.from(`robot:${secret('registry password')}`).toString('base64');
  const registrytoken = secret('registry token');
  writeFileSync(credentialsFile, JSON.stringify({ auths: { [registry]: { auth }, 'other.test': { registrytoken } } }));
  const endpoint = collector.endpoint.replace('//', `//tracer:${secret('collector password')}@`);
  const hookUrl = `http://127.0.0.1:${echoPort()}/take?key=${secret('token of the hook address')}`;
  server = await testServer({
    ...{ drivers: [driver], logLevel: 'trace', logFd },
    secretsKey: { text: secret('secrets key', randomBytes(32).toString('base64')) },
    traces: { endpoint, headers: { 'x-collector': secret('collector header') } },
    usageHook: { url: hookUrl, secret: secret('usage hook secret', newWebhookSecret()) },
    sinks: { open: ['127.0.0.1'], eventsFile, retry: { maxTries: 2, ms: 1 } },
    registries: { credentialsFile },
    egress: { open: ['127.0.0.1'], resolver: { resolve: async () => ['127.0.0.1'] } },
  });
});

afterAll(async () => {
  await server.close();
  await driver.stopAll();
  collector.close();
  echo.closeAllConnections();
  echo.close();
  closeSync(logFd);
  rmSync(place, { recursive: true });
});

/** Asks, and remembers the answer among what was told. */
async function ask(key: string, method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
  const who = key === '' ? {} : { key };
  const reply = await call(server.url, method, path, { ...who, headers, ...(body === undefined ? {} : { body }) });
  answers.push(JSON.stringify(reply.body));
  return reply;
}

/** The same where the answer is the one that shows a new secret, and nothing else may. */
async function mint(name: string, field: string, key: string, method: string, path: string, body: unknown) {
  const reply = await call(server.url, method, path, { key, body });
  expect(reply.status, `${name}: ${JSON.stringify(reply.body)}`).toBeLessThan(300);
  secret(name, String(reply.body[field]));
  return reply.body;
}

async function makeKeys(): Promise<void> {
  const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
  const made = await request(join(server.folder, 'server.sock'), 'POST', '/v1/keys', {
    ...{ name: 'first', scope: 'admin' },
    ...owner,
  });
  const admin = secret('key of an admin', String(made.body.secret));
  for (const scope of ['manage', 'use', 'read'])
    await mint(`key to ${scope}`, 'secret', admin, 'POST', '/v1/keys', { name: scope, scope, ...owner });
  const revoked = await mint('revoked key', 'secret', admin, 'POST', '/v1/keys', {
    name: 'gone',
    scope: 'use',
    ...owner,
  });
  await ask(admin, 'DELETE', `/v1/keys/${revoked.id}`);
  expect((await ask(secrets.get('revoked key') ?? '', 'GET', '/v1/sandboxes')).status).toBe(401);
  await ask(secret('key of a stranger'), 'GET', '/v1/sandboxes');
  await ask('', 'GET', '/v1/sandboxes', undefined, { 'x-api-key': secret('key in another header') });
  await ask('', 'GET', '/v1/sandboxes', undefined, { authorization: `Basic ${secret('credential of another kind')}` });
  await ask(admin, 'GET', '/v1/sandboxes', undefined, { cookie: `session=${secret('cookie')}` });
}

async function keepSecrets(admin: string): Promise<void> {
  const domains = ['git.test', 'registry.test'];
  const set = (name: string, body: object) => ask(admin, 'PUT', `/v1/secrets/${name}`, { domains, ...body });
  await set('bearer', { value: secret('token for a header'), header: { name: 'Authorization', format: 'Bearer {}' } });
  await set('inside', { value: secret('token with a placeholder'), env: 'TOKEN' });
  await set('git', { value: secret('git token'), ports: [443, echoPort()] });
  await set('bearer', { value: secret('value that replaces one'), header: { name: 'Authorization' } });
  // Each is refused for something else than its value.
  await set('wrong', { value: secret('value with a wrong domain'), domains: ['not a domain'] });
  await set('wrong', { value: secret('value with a wrong header'), header: { name: 'Host' } });
  await set('wrong', { value: `${secret('value with a line break')}\n` });
  await set('wrong', { value: secret('value beside an unknown field'), unknown: secret('value of an unknown field') });
  await ask(admin, 'POST', '/v1/secrets/inside', { value: secret('value with a wrong method') });
  await ask(admin, 'PUT', '/v1/secrets/broken', `{"value": "${secret('value in broken JSON')}", `);
}

/** A registry that repeats what it was asked with, as its clients here see it: the fake driver has none. */
async function useRegistries(): Promise<void> {
  const host = `127.0.0.1:${echoPort()}`;
  const kept = await readCredentialsFile(join(place, 'registries.json'));
  const token = { token: secret('registry token that was fetched') };
  for (const credential of [kept[host], token, { username: 'x', password: secret('registry password of a tenant') }]) {
    const client = new RegistryClient({ host, repository: 'team/image', credential });
    const asked = client.get('manifests/1', {}, AbortSignal.timeout(10_000));
    answers.push(
      String(
        await asked.then(
          () => 'it was given',
          (error: Error) => error.message,
        ),
      ),
    );
  }
}

async function useSources(admin: string): Promise<void> {
  const url = `https://git.test:${echoPort()}/team/project`;
  const source = { kind: 'git', url, authRef: 'git' };
  await ask(admin, 'POST', '/v1/sandboxes', { spec: { source, runtime: { network: { mode: 'off' } } } });
  await ask(admin, 'POST', '/v1/sandboxes', { spec: { source: { ...source, url: url.replace('https', 'http') } } });
  const withToken = `https://ada:${secret('password in a git address')}@git.test/project`;
  await ask(admin, 'POST', '/v1/sandboxes', { spec: { source: { kind: 'git', url: withToken } } });
  const network = { mode: 'open', secrets: [`Bearer ${secret('secret in place of its name')}`] };
  await ask(admin, 'POST', '/v1/sandboxes', { spec: { source: { kind: 'none' }, runtime: { network } } });
}

/** What users put into sandboxes is theirs: it is told to them and to nobody else. */
async function useSandbox(admin: string, use: string): Promise<string> {
  const env = { PASSWORD: secret('variable of a sandbox') };
  const spec = { source: { kind: 'none' }, runtime: { network: { mode: 'off' }, env } };
  const made = await call(server.url, 'POST', '/v1/sandboxes', { key: use, body: { spec, profile: 'blank' } });
  expect(made.body).toMatchObject({ state: 'ready' });
  const path = `/v1/sandboxes/${made.body.id}`;
  const command = ['sh', '-c', 'cat >/dev/null; : "$0"; exit 3', secret('argument of a command')];
  const inside = { env: { TOKEN: secret('variable of a command') }, stdin: secret('input of a command') };
  await ask(use, 'POST', `${path}/exec`, { command, ...inside });
  await ask(use, 'POST', `${path}/exec`, { command: ['/nowhere', secret('argument of no command')] });
  await ask(use, 'POST', `${path}/exec`, { command: 'not a list', env: { A: secret('variable of a wrong request') } });
  const file = join(place, 'written');
  await ask(use, 'PUT', `${path}/files/content?path=${file}`, secret('content of a file'));
  await mint('token of a port', 'token', use, 'PUT', `${path}/ports/3000`, {});
  const visit = (method: string) =>
    ask('', method, `/preview/${made.body.id}/3000/?caisson-token=${secrets.get('token of a port')}`);
  await visit('GET');
  await visit('POST');
  await ask(admin, 'POST', `${path}/ports/3000/links`, { expiresInSeconds: 0 });
  await ask(use, 'POST', `${path}/stop`, {});
  return made.body.id;
}

async function useWebhooks(admin: string): Promise<void> {
  const refusing = `http://127.0.0.1:${echoPort()}/hook?token=${secret('token of a webhook address')}`;
  const add = (name: string, url: string) => mint(name, 'secret', admin, 'POST', '/v1/webhooks', { url });
  const hook = await add('webhook secret', refusing);
  await mint('webhook secret after a rotation', 'secret', admin, 'POST', `/v1/webhooks/${hook.id}/rotate`, {});
  await add('secret of a webhook that works', `http://127.0.0.1:${echoPort()}/take`);
  await ask(admin, 'POST', `/v1/webhooks/${hook.id}/test`);
  const withPassword = `https://ada:${secret('password in a webhook address')}@hooks.test/`;
  await ask(admin, 'POST', '/v1/webhooks', { url: withPassword });
  await call(server.url, 'POST', '/v1/sandboxes', { key: admin, body: { profile: 'blank' } });
  const dead = async () => (await ask(admin, 'GET', `/v1/webhooks/${hook.id}/dead-letters`)).body.items.length;
  await expect.poll(dead, patience).toBeGreaterThan(0);
  await expect.poll(() => posted.length, patience).toBeGreaterThan(0);
}

/** A server whose database is away says why it does not start, and not with which password it tried. */
async function startWithoutDatabase(): Promise<string> {
  const databaseUrl = `postgres://caisson:${secret('database password')}@127.0.0.1:9/caisson`;
  const folder = mkdtempSync(join(place, 'data-'));
  const options = { dataFolder: folder, listen: [], allowHosts: [], destroyOnExit: false, version: '0', databaseUrl };
  return startServer({ ...options, logLevel: 'trace', logFd }).then(
    () => 'it started',
    (error: Error) => `${error.message} ${JSON.stringify(error)} ${error.stack}`,
  );
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

/** A spec and the address of a webhook are what their owner asked for, and stand in the database as such. */
const inRecords = ['variable of a sandbox', 'token of a webhook address'];
/** Whose command cannot be found is told which it was. */
const inAnswers = ['argument of no command'];

test('nothing that a server tells has a secret in it', { timeout: 120_000 * slowness }, async () => {
  await makeKeys();
  const key = (name: string) => secrets.get(name) ?? '';
  const admin = key('key of an admin');
  await keepSecrets(admin);
  await useRegistries();
  await useSources(admin);
  await useSandbox(admin, key('key to use'));
  await useWebhooks(admin);
  const why = await startWithoutDatabase();
  const socket = join(server.folder, 'server.sock');
  const doctor = await request(socket, 'GET', '/v1/doctor');
  const host = await request(socket, 'GET', '/v1/host');
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const bearer = { headers: { authorization: `Bearer ${admin}` } };
  const audit = await (await fetch(`${server.url}/v1/audit/export`, bearer)).text();
  const events = (await call(server.url, 'GET', '/v1/events?limit=200', { key: admin })).body;
  expect(audit.length).toBeGreaterThan(1_000);
  expect(JSON.stringify(events).length).toBeGreaterThan(500);
  await expect.poll(() => collector.spans.length, patience).toBeGreaterThan(20);
  const logged = () => readFileSync(logFile, 'utf8');
  await expect.poll(() => logged().includes('an event was given up'), patience).toBe(true);
  const told: Record<string, string> = {
    ...{ log: logged(), metrics, why, answers: answers.join('\n'), audit },
    ...{ events: JSON.stringify(events), doctor: JSON.stringify(doctor.body), host: JSON.stringify(host.body) },
    ...{ traces: collector.bodies.join('\n'), deliveries: posted.join('\n') },
    'events file': readFileSync(eventsFile, 'utf8'),
  };
  expect([...credited]).toEqual(['127.0.0.1']);
  expect(secrets.size).toBeGreaterThan(30);
  const found: string[] = [];
  for (const [name, value] of secrets)
    for (const [where, text] of Object.entries(told))
      if (!(where === 'answers' && inAnswers.includes(name)) && isIn(text, value)) found.push(`${name} in ${where}`);
  expect(found).toEqual([]);
  await server.server.close();
  const kept = [...secrets].filter(([name]) => !inRecords.includes(name));
  for (const path of filesBelow(server.folder).filter((file) => !file.endsWith('.key'))) {
    const bytes = readFileSync(path);
    for (const [name, value] of kept) if (isIn(bytes, value)) found.push(`${name} in ${path}`);
  }
  expect(found).toEqual([]);
});

function isIn(told: string | Buffer, value: string): boolean {
  return spellings(value).some((spelling) => told.includes(spelling));
}

/** As it is, and as what carries it may spell it. */
function spellings(value: string): string[] {
  const bytes = Buffer.from(value);
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    bytes.toString('hex'),
    // In base64 of something longer it begins at one of three places; its last bytes mix with what follows.
    ...[0, 1, 2].map((skipped) => bytes.subarray(skipped).toString('base64').slice(0, -4)),
  ];
}
