import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { CaissonError, newId, toProblem } from '@caisson/contract';
import { afterEach, expect, test } from 'vitest';
import { commandTree, everyCommand } from './completion/command-tree.ts';
import type { Invocation } from './invocation.ts';
import { Screen } from './output/screen.ts';
import { buildProgram } from './program.ts';
import { run } from './run.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function caisson(argv: string[], stdin = '') {
  const written = { out: '', err: '' };
  const sink = (name: 'out' | 'err') => ({
    isTTY: false,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const invocation: Invocation = {
    argv,
    env: {},
    bin: '/nonexistent',
    out: sink('out'),
    err: sink('err'),
    readStdin: async () => Buffer.from(stdin),
    stdio: () => ({ stdin: Readable.from([stdin]), stdout: new PassThrough(), stderr: new PassThrough() }),
    whenOutputCloses: () => {},
  };
  return { exitCode: await run(invocation), ...written, invocation };
}

async function serverOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([
  [['frobnicate'], "unknown command 'frobnicate'"],
  [['get'], "missing required argument 'sandbox'"],
  [['list', '--sate', 'ready'], "unknown option '--sate'\n  (Did you mean --state?)"],
  [['list', '--state', 'sleeping'], 'Allowed choices'],
  [['create', '--ttl', 'soon'], 'Write it as 90s, 15m, 2h, 1d'],
  [['create', '--label', 'x'], 'Write it as key=value'],
])('%j is an error of use', async (argv, message) => {
  const { exitCode, out, err } = await caisson(argv);
  expect(exitCode).toBe(64);
  expect(out).toBe('');
  expect(err).toContain(message);
  expect(err).toContain('next: ');
});

test('with --json an error is one problem document', async () => {
  const { exitCode, out, err } = await caisson(['list', '--limit', 'x', '--json']);
  expect(exitCode).toBe(64);
  expect(out).toBe('');
  expect(JSON.parse(err)).toMatchObject({ code: 'request_invalid', hint: expect.any(String) });
});

test('help is no error', async () => {
  const { exitCode, out } = await caisson(['create', '--help']);
  expect(exitCode).toBe(0);
  expect(out).toContain('--ttl <duration>');
});

test('a spec is checked without a server: every problem with its path', async () => {
  const { exitCode, err } = await caisson(['spec', 'check', '-'], 'repo: 7\nfoo: 1\n');
  expect(exitCode).toBe(65);
  expect(err).toMatch(/ {2}foo: .*\n {2}repo: /);
});

test('a spec is normalized without a server', async () => {
  const { exitCode, out } = await caisson(['spec', 'normalize', '-', '--json'], 'repo: https://github.com/a/b');
  expect(exitCode).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    blueprint: { version: '1' },
    digest: expect.stringMatching(/^blueprint-sha256:/),
  });
  expect((await caisson(['spec', 'check', '-', '--no-source'], 'packages: [git]')).exitCode).toBe(0);
});

test('a server and a data folder at once are refused', async () => {
  const { exitCode, err } = await caisson(['list', '--url', 'http://127.0.0.1:1', '--data', '/tmp/x']);
  expect(exitCode).toBe(65);
  expect(err).toContain('two servers');
});

test('the exit code is that of the error table', async () => {
  const url = await serverOf((_, response) => {
    const error = new CaissonError('max_sandboxes_reached');
    response.writeHead(error.status, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify(toProblem(error)));
  });
  const { exitCode, err } = await caisson(['create', '--url', url]);
  expect(exitCode).toBe(75);
  expect(err).toContain('code: max_sandboxes_reached');
});

/** A server on which a create takes longer than the first wait, and ends in `state`. */
async function slowServer(state: string) {
  const id = newId('sandbox');
  let present = 'provisioning';
  const bodies: unknown[] = [];
  const reason = state === 'failed' ? { code: 'build_failed', message: 'step 3 failed' } : null;
  const build = newId('build');
  const sandbox = () => ({ id, name: null, state: present, reason, notices: [], attempt: newId('attempt') });
  const error = { code: 'build_failed', message: 'step 3 failed', step: 'three', exitCode: 7, lastLines: ['oh', 'no'] };
  const others = { attempts: { build }, builds: { id: build, state: 'failed', error } };
  const url = await serverOf(async (request, response) => {
    if (request.headers.accept === 'text/event-stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (state === 'never') return void response.write(': open\n\n');
      present = state;
      response.write(`id: 2\ndata: {"position":2,"type":"caisson.sandbox.${state}","data":{"action":null}}\n\n`);
      return;
    }
    if (request.url?.includes('/events')) {
      const item = { position: 1, type: 'caisson.sandbox.provisioning', data: { action: 'create' } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ items: [item], next: null }));
      return;
    }
    const other = Object.entries(others).find(([name]) => request.url?.includes(`/${name}/`))?.[1];
    if (other) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(other));
      return;
    }
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method === 'POST') bodies.push(JSON.parse(body));
    response.writeHead(request.method === 'POST' ? 202 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(sandbox()));
  });
  return { url, id, bodies, build };
}

test('a create that takes longer is followed to its end', async () => {
  const { url, id, bodies } = await slowServer('ready');
  const argv = ['create', 'https://example.org/a.git', '-p', 'agent@2', '-i', 'n=3', '-n', 'web', '-l', 'a=b'];
  const { exitCode, out } = await caisson([...argv, '--ttl', '2h', '--driver', 'oci', '--url', url]);
  expect(exitCode).toBe(0);
  expect(out).toBe(`${id}\n`);
  expect(bodies).toEqual([
    {
      spec: { repo: 'https://example.org/a.git', target: { runtime: { name: 'oci', mode: 'require' } } },
      profile: 'agent@2',
      inputs: { n: '3' },
      name: 'web',
      labels: { a: 'b' },
      ttlSeconds: 7200,
      waitSeconds: 1,
    },
  ]);
});

test('a create that fails on the way is told with its reason, and with what its build has to tell', async () => {
  const { url, id, build } = await slowServer('failed');
  const { exitCode, out, err } = await caisson(['create', '--url', url]);
  expect(exitCode).toBe(70);
  expect(out).toBe('');
  expect(err).toContain('error: step 3 failed');
  expect(err).toContain(id);
  expect(err).toMatch(/step: three\n {2}exitCode: 7\n {2}lastLines:\n {4}oh\n {4}no/);
  expect(err).toContain(`caisson build logs ${build}`);
});

test('a create is waited for no longer than was asked', async () => {
  const { url, id } = await slowServer('never');
  const { exitCode, out, err } = await caisson(['create', '--wait', '1.2', '--url', url]);
  expect(exitCode).toBe(0);
  expect(out).toBe(`${id}\n`);
  expect(err).toContain('still provisioning');
});

test('a name that several sandboxes have is not guessed', async () => {
  const ids = [newId('sandbox'), newId('sandbox')];
  const url = await serverOf((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    if (request.url?.startsWith('/v1/whoami')) response.end('{"owner":{"principal":"me"}}');
    else response.end(JSON.stringify({ items: ids.map((id) => ({ id, owner: { principal: id } })), next: null }));
  });
  const { exitCode, err } = await caisson(['get', 'web', '--url', url]);
  expect(exitCode).toBe(65);
  for (const id of ids) expect(err).toContain(id);
});

test('text of a server cannot command the terminal', async () => {
  const url = await serverOf((_, response) => {
    const profiles = [{ name: 'evil', version: 1, description: '\u001b[2Jboo' }];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items: profiles }));
  });
  expect((await caisson(['profile', 'list', '--url', url])).out).toContain('\\x1b[2Jboo');
});

test('every command takes --json, but for completion which is a script', async () => {
  const { invocation } = await caisson(['--help']);
  const tree = commandTree(buildProgram(invocation, new Screen(invocation), { exitCode: 0 }));
  const leaves = everyCommand(tree).filter(({ commands }) => commands.length === 0);
  const without = leaves.filter(({ options }) => !options.some(({ flags }) => flags.includes('--json')));
  expect(without.map(({ path }) => path.join(' '))).toEqual(['completion']);
});
