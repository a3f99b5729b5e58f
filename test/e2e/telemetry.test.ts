import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { healthNames } from '@caisson/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OtlpReceiver, startOtlpReceiver } from '../otlp-receiver.ts';
import { slowness } from '../slowness.ts';
import { GuestDriver } from './guest-driver.ts';
import { call, type TestServer, testServer } from './server.ts';

const root = join(import.meta.dirname, '..', '..');

/** A port on which nobody listens for HTTP. */
const refusing = 9;
const driver = new GuestDriver();
let server: TestServer;
let collector: OtlpReceiver;
beforeAll(async () => {
  collector = await startOtlpReceiver();
  const { endpoint } = collector;
  server = await testServer({ traces: { endpoint }, drivers: [driver], sinks: { open: ['127.0.0.1'] } });
});
afterAll(async () => {
  await server.close();
  await driver.stopAll();
  collector.close();
});

const spec = { source: { kind: 'none' }, runtime: { network: { mode: 'off' } } };
const parent = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' };
const traceparent = `00-${parent.trace}-${parent.span}-01`;

async function make(headers: Record<string, string> = {}): Promise<string> {
  const made = await call(server.url, 'POST', '/v1/sandboxes', { body: { spec, profile: 'blank' }, headers });
  expect(made.body).toMatchObject({ state: 'ready' });
  return made.body.id;
}

test('a request is one trace from the route to the driver and to the guest, below what the client said', async () => {
  const id = await make({ traceparent });
  await call(server.url, 'POST', `/v1/sandboxes/${id}/exec`, { body: { command: ['true'] }, headers: { traceparent } });
  const own = () => collector.spans.filter(({ traceId }) => traceId === parent.trace);
  const wanted = ['sandbox.create', 'create', 'prepare', 'launch', 'process.exec', 'guest.exec'];
  await expect
    .poll(() => wanted.filter((name) => !own().some((span) => span.name === name)), { timeout: 30_000 })
    .toEqual([]);
  const above = (name: string) => {
    const found = own().find((span) => span.name === name);
    return own().find(({ spanId }) => spanId === found?.parentSpanId)?.name ?? found?.parentSpanId;
  };
  expect(wanted.map(above)).toEqual([parent.span, 'sandbox.create', 'create', 'create', parent.span, 'process.exec']);
});

/** Names of metrics in a text, as they are exposed: without what Prometheus adds to histograms. */
const metricNames = (text: string) =>
  new Set([...text.matchAll(/caisson_\w+/g)].map(([name]) => name.replace(/_(bucket|count|sum)$/, '')));
const isOfProcess = (name: string) => /^caisson_(process|nodejs)_/.test(name);

test('the page, the dashboard and the server name the same numbers', async () => {
  await make();
  // What has not happened yet has no row of its own; its name is there all the same.
  const told = await (await fetch(`${server.url}/metrics`)).text();
  const exposed = new Set([...told.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name));
  const ours = [...exposed].filter((name) => !isOfProcess(name));
  expect(ours.length).toBeGreaterThan(40);
  const dashboard = metricNames(readFileSync(join(root, 'docs', 'grafana', 'caisson.json'), 'utf8'));
  const page = metricNames(readFileSync(join(root, 'docs', 'telemetry.md'), 'utf8'));
  const runbooks = join(root, 'docs', 'runbooks');
  const inRunbooks = metricNames(
    readdirSync(runbooks)
      .map((name) => readFileSync(join(runbooks, name), 'utf8'))
      .join(),
  );
  for (const named of [dashboard, inRunbooks]) expect([...named].filter((name) => !exposed.has(name))).toEqual([]);
  expect([...page].filter((name) => !exposed.has(name) && !isOfProcess(name))).toEqual([]);
  expect(ours.filter((name) => !page.has(name))).toEqual([]);
  expect(ours.filter((name) => !dashboard.has(name))).toEqual([]);
});

test('credits, quotas, leases, webhooks and the audit log are told in numbers', async () => {
  const value = async (name: string) => {
    const told = await (await fetch(`${server.url}/metrics`)).text();
    return Number(
      told
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1) ?? Number.NaN,
    );
  };
  const api = (method: string, path: string, body: object) => call(server.url, method, path, { body });
  const begun = await value('caisson_credit_movements{kind="grant"}');
  await api('POST', '/v1/credits', { tenant: 'payer', amountMicros: 70 });
  await api('PUT', '/v1/credits/switch', { tenant: 'payer', on: false });
  expect(await value('caisson_credit_movements{kind="grant"}')).toBe(begun + 1);
  expect(await value('caisson_credit_micros{account="available"}')).toBe(70);
  expect(await value('caisson_credit_tenants{standing="off"}')).toBe(1);
  await api('PUT', '/v1/quota', { tenant: 'full', limits: { sandboxes: 0 } });
  expect(await value('caisson_quotas_full{resource="sandboxes"}')).toBe(1);
  await api('POST', '/v1/webhooks', { url: `http://127.0.0.1:${refusing}/` });
  const id = await make();
  const extension = await api('POST', `/v1/sandboxes/${id}/extend`, { seconds: 10_000_000 });
  expect(await value(`caisson_refusals_total{code="${extension.body.code}"}`)).toBeGreaterThan(0);
  expect(await value('caisson_lease_changes_total{change="extension-refused"}')).toBe(1);
  const failed = () => value('caisson_webhook_deliveries_total{outcome="failed"}');
  await expect.poll(failed, { timeout: 10_000 * slowness }).toBeGreaterThan(0);
  await expect.poll(() => value('caisson_webhook_held'), { timeout: 10_000 * slowness }).toBeGreaterThan(0);
  expect(await value('caisson_webhook_oldest_seconds')).toBeGreaterThanOrEqual(0);
  await expect.poll(() => value('caisson_audit_lines'), { timeout: 10_000 * slowness }).toBeGreaterThan(3);
});

test('what a create took is told by phase and driver, and a failure by its code', async () => {
  const id = await make();
  await call(server.url, 'POST', `/v1/sandboxes/${id}/pause`, { body: {} });
  const told = await (await fetch(`${server.url}/metrics`)).text();
  for (const phase of ['create', 'prepare', 'launch'])
    expect(told).toMatch(
      new RegExp(`caisson_phase_duration_seconds_count\\{phase="${phase}",driver="fake",outcome="ok"\\} [1-9]`),
    );
  expect(told).toMatch(/caisson_events_total\{type="caisson\.sandbox\.ready"\} [1-9]/);
  expect(told).toMatch(/caisson_health\{check="database"\} [012]/);
});

test('health names what it looked at, each with a page that says what to do', async () => {
  const { status, body } = await call(server.url, 'GET', '/v1/health');
  expect(status).toBe(200);
  for (const check of body.checks) expect(existsSync(join(root, check.runbook)), check.name).toBe(true);
  expect(healthNames.filter((name) => !existsSync(join(root, 'docs', 'runbooks', `${name}.md`)))).toEqual([]);
});

test('usage shows what runs with what it takes', async () => {
  const id = await make();
  const { body } = await call(server.url, 'GET', '/v1/usage?limit=1');
  expect(body).toMatchObject({
    isWhole: false,
    items: [{ sandbox: id, driver: 'fake', stats: { processes: expect.any(Number) } }],
  });
});
